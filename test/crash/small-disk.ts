import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { plainEnvironment } from './harness.ts'

/** Only root may mount, so other users get a namespace where they are root. Its processes all end with the script. */
const NAMESPACE = [
  '--mount',
  '--pid',
  '--fork',
  '--kill-child',
  ...(process.getuid?.() === 0 ? [] : ['--map-root-user']),
]
const MOUNT = 'mount -t tmpfs -o size="$1"m tmpfs "$0" && shift && echo mounted && exec "$@"'

/**
 * Runs a script with `folder` as its first argument, where that folder is a separate file system of so many megabytes.
 * Only the script and its child processes see it. When they have ended, or were killed, the file system is gone. The
 * script should exit when its stdin ends, because then the caller is gone. Returns the script's output, or why such a
 * file system cannot be mounted.
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
