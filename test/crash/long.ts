import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crashRound, makeCrashFolder, newLedger } from './harness.ts'

/** `npm run crash [-- ROUNDS]`: kills the service over and over while many clients write, and looks for what is lost. */
const rounds = Number(process.argv[2] ?? 50)
const folder = mkdtempSync(join(tmpdir(), 'dossier-crash-'))
makeCrashFolder(folder)
const ledger = newLedger()
for (let round = 1; round <= rounds; round++) {
  const faults = await crashRound(folder, ledger, 32, 100 + Math.random() * 1500)
  process.stdout.write(
    `round ${round} of ${rounds}: ${ledger.acknowledged} writes acknowledged, ${faults.length} faults\n`,
  )
  if (faults.length > 0) {
    process.stdout.write(`${faults.join('\n')}\nThe data is in ${folder}\n`)
    process.exit(1)
  }
}
rmSync(folder, { recursive: true })
process.stdout.write('Nothing acknowledged was lost.\n')
