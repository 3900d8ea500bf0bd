import { runOnce } from './worker.ts'

/** A file as it is sent to a browser. */
export interface PageFile {
  /** path below the common address of all files */
  name: string
  type: string
  bytes: Uint8Array
  zipped: Uint8Array
}

export interface BundleOptions {
  folder: string
  /** module that starts the page, in the folder */
  entry: string
  /** style sheets in the folder; later ones override earlier ones */
  styles: string[]
}

/** The page in few and small files. */
export interface Bundle {
  files: PageFile[]
  /** names of the file that starts the page, of those that it needs at once, and of the style sheet */
  entry: string
  preloads: string[]
  style: string
}

const THREAD = new URL('./bundle-thread.ts', import.meta.url)

/**
 * Bundles the page: a first visit needs a few files instead of eighty, at half their size. That takes some tenths of a
 * second, too long for the serving thread, so it runs in a worker.
 */
export const bundlePage = (options: BundleOptions): Promise<Bundle> => runOnce(THREAD, options)
