import { runOnce } from './worker.ts'

const THREAD = new URL('./without-types-thread.ts', import.meta.url)

/**
 * The JavaScript of TypeScript files, in their order: only the types are removed. That takes some hundredths of a
 * second, too long for the serving thread, so it runs in a worker.
 */
export const withoutTypes = (paths: string[]): Promise<string[]> => runOnce(THREAD, paths)
