/** How rows become text, for tests. */
export const numbers = () => ({ head: '', format: ({ n }: { n: number }) => `${n}\n` })

/** A thread that dies while it waits for somebody to take what it has told. */
export function dies() {
  setTimeout(() => {
    throw new Error('out of memory')
  }, 50)
  return { head: '', format: () => 'x'.repeat(70_000) }
}
