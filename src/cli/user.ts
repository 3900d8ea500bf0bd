import { parseArgs } from 'node:util'
import { loadConfig } from '../config.ts'
import { formatNamedValue, parseNamedValue } from '../lib/named-values.ts'
import { createToken } from '../people/tokens.ts'
import { type Account, addUser, changeUser, listUsers, removeUser, setAttributes, unlockUser } from '../people/users.ts'
import { openStorage, requireDatabase } from '../storage/open.ts'
import type { Storage } from '../storage/storage.ts'
import { askPassword } from './ask-password.ts'
import { type Command, type CommandContext, runCommand, UsageError } from './command.ts'
import { formatTable } from './table.ts'

export const HELP = `Usage: npm run user -- COMMAND [NAME] [OPTIONS]

  add NAME [--roles a,b]   adds a user; asks for the password. --no-password: they come in by tokens only.
                           --again: also if somebody had the name before, whose records are the new user's then.
                           --create: also if there is no database yet
  token NAME               makes a token for scripts and shows it, only this once. --days N: how long it lasts (1 to
                           365, a year if not said). --read-only: it may change nothing. --for TEXT: what it is for
  passwd NAME              sets a new password; ends the user's sessions
  roles NAME a,b           gives the user these roles and no others; "" for none
  set NAME regions=a,b     sets attributes that rules of models compare with; "regions=" removes one
  disable NAME             keeps the user out; ends the user's sessions
  enable NAME              lets the user in again
  unlock NAME              lets a user log in again who has tried too often
  remove NAME              removes the user; records go on naming them, so the name is not given to anybody else
  list                     shows all users

  --json                   answers in JSON
  --help                   shows this text

A password is asked for on the terminal, or read from standard input: it is never an argument.
It has at least 10 characters. All of this works while the service runs.
Exit codes: 0 done, 1 refused (the message says why), 2 wrong usage.
`

type Answer = Account[] | string

interface Options {
  roles: string
  again: boolean
  'no-password': boolean
  days: string
  'read-only': boolean
  for: string
}

/** The subcommands; `words` is the number of arguments after the name of the subcommand. */
const COMMANDS: Record<
  string,
  {
    words: number | 'some'
    run(storage: Storage, words: string[], context: CommandContext, options: Options): Promise<Answer>
  }
> = {
  add: {
    words: 1,
    run: async (storage, [username = ''], context, { roles, again, 'no-password': isWithout }) => {
      const password = isWithout ? undefined : await askPassword(context)
      return [await addUser(storage, { username, password, roles: splitRoles(roles), again })]
    },
  },
  token: {
    words: 1,
    run: async (storage, [name = ''], _context, { days, 'read-only': readOnly, for: what }) => {
      const { token } = await createToken(storage, await storage.signingKey(), name, {
        name: what,
        days: Number(days),
        readOnly,
      })
      return token
    },
  },
  passwd: {
    words: 1,
    run: async (storage, [name = ''], context) => [
      await changeUser(storage, name, { password: await askPassword(context) }),
    ],
  },
  roles: {
    words: 2,
    run: async (storage, [name = '', roles = '']) => [await changeUser(storage, name, { roles: splitRoles(roles) })],
  },
  set: {
    words: 'some',
    run: async (storage, [name = '', ...texts]) => {
      const parsed = texts.map((text) => {
        const attribute = parseNamedValue(text)
        if (!attribute) throw new UsageError(`"${text}" must be an attribute and its value: regions=north,south.`)
        return attribute
      })
      return [await setAttributes(storage, name, new Map(parsed))]
    },
  },
  disable: { words: 1, run: async (storage, [name = '']) => [await changeUser(storage, name, { enabled: false })] },
  enable: { words: 1, run: async (storage, [name = '']) => [await changeUser(storage, name, { enabled: true })] },
  unlock: {
    words: 1,
    run: async (storage, [name = '']) => `${await unlockUser(storage, name)} can log in again.`,
  },
  remove: {
    words: 1,
    run: async (storage, [name = '']) =>
      `${await removeUser(storage, name)} is removed. Records still name them: the name is given away again only with --again.`,
  },
  list: { words: 0, run: ({ db }) => listUsers(db) },
}

export const userCommand: Command = async (context) => {
  const { args } = context
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      roles: { type: 'string', default: '' },
      again: { type: 'boolean', default: false },
      create: { type: 'boolean', default: false },
      'no-password': { type: 'boolean', default: false },
      days: { type: 'string', default: '365' },
      'read-only': { type: 'boolean', default: false },
      for: { type: 'string', default: 'made at the command line' },
      json: { type: 'boolean', default: false },
    },
  })
  const [name = '', ...words] = positionals
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (!command) throw new UsageError(name ? `There is no command "${name}".` : 'Which command?')
  if (command.words === 'some' && words.length < 2) throw new UsageError(`"${name}" takes a name, and more words.`)
  if (command.words !== 'some' && words.length !== command.words)
    throw new UsageError(`"${name}" takes ${command.words} more word(s).`)

  const config = loadConfig(context.env, true)
  if (!(name === 'add' && values.create)) requireDatabase(config, name === 'add' ? ', or say --create' : '')
  const storage = await openStorage(config)
  try {
    const answer = await command.run(storage, words, context, values)
    return values.json ? `${JSON.stringify(answer)}\n` : forPeople(answer)
  } finally {
    await storage.close()
  }
}

function splitRoles(text: string): string[] {
  return text.split(',').flatMap((role) => role.trim() || [])
}

function forPeople(answer: Answer): string {
  if (typeof answer === 'string') return `${answer}\n`
  return formatTable(
    ['username', 'roles', 'enabled', 'created', 'last login', 'attributes'],
    answer.map(({ username, roles, attributes, enabled, createdOn, lastLogin }) => [
      username,
      roles.join(', '),
      enabled ? 'yes' : 'no',
      createdOn,
      lastLogin ?? 'never',
      Object.entries(attributes)
        .map(([name, value]) => formatNamedValue(name, value))
        .join(' '),
    ]),
  )
}

if (import.meta.main) await runCommand(HELP, userCommand)
