import { type Row, StorageFault } from '../storage/storage.ts'

/** Writes something that must find what it is about; else it is told why there is nothing. */
export async function writeOrExplain(
  write: () => Promise<Row[][]>,
  explain: (step: number | undefined) => Error | Promise<Error>,
): Promise<Row[][]> {
  try {
    return await write()
  } catch (error) {
    throw error instanceof StorageFault && error.kind === 'no-row' ? await explain(error.details.step) : error
  }
}
