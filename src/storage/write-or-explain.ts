import { isFault, type Row } from './storage.ts'

/** Runs a write; if a `mustReturnRow` step found no row, throws the error that `explain` returns. */
export async function writeOrExplain(
  write: () => Promise<Row[][]>,
  explain: (step: number | undefined) => Error | Promise<Error>,
): Promise<Row[][]> {
  try {
    return await write()
  } catch (error) {
    throw isFault(error, 'no-row') ? await explain(error.details.step) : error
  }
}
