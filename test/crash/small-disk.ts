import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { plainEnvironment } from './harness.ts'

/** Nobody but root may mount, except in a namespace where they are root. With the script ends all that it has started. */
const NAMESPACE = [
  '--mount',
  '--pid',
  '--fork',
  '--kill-child',
  ...(process.getuid?.() === 0 ? [] : ['--map-root-user']),
]
const MOUNT = 'mount -t tmpfs -o size="$1"m tmpfs "$0" && shift && echo mounted && exec "$@"'

/**
 * Runs a script, with the folder as its first word, where that folder is a file system of its own of so many megabytes. Only
 * the script and what it starts see it: when they have ended it is gone, also if somebody kills them. The script should end
 * when its input does: then whoever waits for it is gone. Returns what the script has written, or why there can be no such
 * file system.
 */
export async function onSmallDisk(folder: string, megabytes: number, script: string, words: string[] = []) {
  mkdirSync(folder, { recursive: true })
  const command = [process.execPath, script, folder, ...words]
  const child = spawn('unshare', [...NAMESPACE, 'sh', '-c', MOUNT, folder, String(megabytes), ...command], {
    env: plainEnvironment(),
    stdio: 'pipe',
  })
  const failed = new Promise<string>((resolve) => child.once('error', (error) => resolve(error.message)))
  const said = Promise.all([text(child.stdout), text(child.stderr)])
  const outcome = await Promise.race([failed, said])
  if (typeof outcome === 'string') return { why: outcome }
  const [out, errors] = outcome
  if (!out.startsWith('mounted\n')) return { why: errors.trim() }
  return { out: out.slice('mounted\n'.length), errors }
}
