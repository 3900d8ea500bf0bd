import { DossierError, type Failure, failureIn, inLanguage, isReachable, newKey, pause, Unreachable } from './api.ts'
import { loginAgain } from './session.ts'

/** Idempotency keys per file and URL: a repeated upload of the same file to the same URL is not executed twice. */
const keys = new WeakMap<Blob, Map<string, string>>()

function uploadKey(file: Blob, path: string): string {
  const known = keys.get(file) ?? new Map<string, string>()
  keys.set(file, known)
  const key = known.get(path) ?? newKey()
  known.set(path, key)
  return key
}

const IN_USE_MS = 2000

/** Uploads a file and reports progress, which needs XMLHttpRequest: `fetch` does not report it. */
export async function upload<Item>(path: string, file: Blob, onSent: (bytes: number) => void): Promise<Item> {
  for (;;) {
    const { status, body } = await post(path, file, uploadKey(file, path), onSent)
    if (status === 200) {
      keys.get(file)?.delete(path)
      return (body.data as Item[])[0] as Item
    }
    const failure = new DossierError(status, body)
    // The browser may have repeated the request after a connection broke; the first one is still running.
    if (failure.code === 'KEY_IN_USE') await pause(IN_USE_MS)
    else if (failure.code === 'LOGIN_REQUIRED') await loginAgain()
    else throw inLanguage(failure)
  }
}

function post(path: string, file: Blob, key: string, onSent: (bytes: number) => void) {
  return new Promise<{ status: number; body: Failure }>((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', path)
    request.setRequestHeader('content-type', 'text/csv')
    request.setRequestHeader('idempotency-key', key)
    request.upload.onprogress = ({ loaded }) => onSent(loaded)
    request.upload.onload = () => onSent(file.size)
    request.onload = () => {
      isReachable.value = true
      resolve({ status: request.status, body: failureIn(request.responseText, request.status) })
    }
    request.onerror = () => {
      isReachable.value = false
      reject(new Unreachable())
    }
    request.send(file)
  })
}
