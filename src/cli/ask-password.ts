import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type CommandContext, UsageError } from './command.ts'

/** On a terminal, asks twice and does not echo; otherwise returns the first line of standard input. */
export async function askPassword({
  stdin: input,
  stderr: output,
}: Pick<CommandContext, 'stdin' | 'stderr'>): Promise<string> {
  if (!input.isTTY) return (await text(input)).replace(/\r?\n[\s\S]*$/, '')
  // Readline echoes the typed characters to its output; this output discards them.
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input, output: silent, terminal: true })
  const ask = async (question: string) => {
    output.write(question)
    const answer = await lines.question('')
    output.write('\n')
    return answer
  }
  try {
    const password = await ask('Password: ')
    if ((await ask('Once more: ')) !== password) throw new UsageError('The two passwords differ.')
    return password
  } finally {
    lines.close()
  }
}
