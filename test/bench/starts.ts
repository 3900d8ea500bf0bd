import { join } from 'node:path'
import { table } from './report.ts'
import { manyModels, residentMb, startBare, startDossier, stop } from './servers.ts'

/** Start and memory, beside a Fastify server that does nothing. */
export async function compareStarts(folder: string): Promise<void> {
  const one = await startDossier(join(folder, 'one'), 0)
  const many = await startDossier(join(folder, 'many-models'), 0, manyModels(join(folder, 'many-models'), 200))
  const bare = await startBare(folder)
  const [ours, theirs, most] = [one, bare, many].map(residentMb) as [number, number, number]
  const ms = ({ startMs }: { startMs: number }) => `${startMs.toFixed(0)} ms`
  const mb = (megabytes: number) => `${megabytes.toFixed(0)} MB`
  table(
    'Start to first answer, and resident memory then',
    ['', 'start', 'memory', 'goal'],
    [
      ['bare Fastify', ms(bare), mb(theirs), ''],
      ['the example model', ms(one), mb(ours), 'under 1 s'],
      ['200 models', ms(many), mb(most), ''],
      ['the example over bare', (one.startMs / bare.startMs).toFixed(2), (ours / theirs).toFixed(2), 'memory 1.5'],
      ['200 models over one', (many.startMs / one.startMs).toFixed(2), (most / ours).toFixed(2), 'start under 3'],
    ],
  )
  for (const server of [one, many, bare]) await stop(server)
}
