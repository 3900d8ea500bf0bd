import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { parentPort, workerData } from 'node:worker_threads'

const stripped = (path: string) => stripTypeScriptTypes(readFileSync(path, 'utf8')).replace(/[^\S\n]+$/gm, '')

parentPort?.postMessage((workerData as string[]).map(stripped))
