/** How rows become text, for tests. */
export const numbers = () => ({ head: '', textOf: ({ n }: { n: number }) => `${n}\n` })

/** A thread that dies while it waits for somebody to take what it has told. */
export function dies() {
  setTimeout(() => {
    throw new Error('out of memory')
  }, 50)
  return { head: '', textOf: () => 'x'.repeat(70_000) }
}
