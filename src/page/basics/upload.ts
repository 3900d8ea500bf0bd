import { isReachable, Refusal, Unreachable } from './api.ts'
import { loginAgain } from './session.ts'

/** Sends a file, and tells how far it is: that only the older way of asking can do. */
export async function upload<Item>(path: string, file: Blob, onSent: (bytes: number) => void): Promise<Item> {
  // If the connection breaks, the same file under the same key goes on where it was.
  const key = crypto.randomUUID?.()
  for (;;) {
    const { status, body } = await post(path, file, key, onSent)
    if (status === 200) return (body.data as Item[])[0] as Item
    const refusal = new Refusal(status, body)
    if (refusal.code !== 'LOGIN_REQUIRED') throw refusal
    await loginAgain()
  }
}

function post(path: string, file: Blob, key: string | undefined, onSent: (bytes: number) => void) {
  return new Promise<{ status: number; body: Record<string, unknown> }>((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', path)
    request.setRequestHeader('content-type', 'text/csv')
    if (key !== undefined) request.setRequestHeader('idempotency-key', key)
    request.upload.onprogress = ({ loaded }) => onSent(loaded)
    request.upload.onload = () => onSent(file.size)
    request.onload = () => {
      isReachable.value = true
      resolve({ status: request.status, body: bodyIn(request) })
    }
    request.onerror = () => {
      isReachable.value = false
      reject(new Unreachable())
    }
    request.send(file)
  })
}

function bodyIn({ responseText, status }: XMLHttpRequest): Record<string, unknown> {
  try {
    return JSON.parse(responseText)
  } catch {
    return { message: `The service answered with ${status}, and not in its own words.` }
  }
}
