import { Command, Option } from 'commander'
import { exitCodeHelp } from '../exit-codes.ts'
import { parseStored } from '../arguments/journal-address.ts'
import type { UserRole } from '../users/user-actions.ts'

interface CommonFlags {
  readonly store?: string
  readonly json?: boolean
}

/** The options of every subcommand of users and tokens. */
export function withStore(command: Command, json: string): Command {
  return command
    .addOption(
      new Option(
        '--store <where>',
        'sqlite:FILE or postgres://HOST/DATABASE (default: sqlite:.heddle/serve.db)',
      ).argParser(parseStored),
    )
    .option('--json', json)
}

export function storeOf({ store, json = false }: CommonFlags): {
  readonly store: string | undefined
  readonly json: boolean
} {
  return { store, json }
}

export function helpWith(examples: readonly string[]): string {
  const codes = exitCodeHelp({ 0: 'it was done', 2: 'it was refused, or the store cannot be used' })
  return ['\nExamples:', ...examples.map((each) => `  $ ${each}`), codes].join('\n')
}

const defaultUrl = 'http://127.0.0.1:4500'

function urlOption(): Option {
  return new Option('--url <url>', 'the address of the server, for the link').default(defaultUrl)
}

/** `heddle users [list | add | block | unblock | link | rotate-key]` */
export function usersCommand(): Command {
  return new Command('users')
    .description(
      'Users of a server: viewers see, operators start and steer, admins do everything. Works while the\n' +
        'server runs, and before its first start.',
    )
    .addCommand(
      withStore(new Command('list').summary('list the users (the default)'), '{ ok, users }')
        .description('List the users.')
        .addHelpText('after', helpWith(['heddle users']))
        .action(async (flags: CommonFlags) => {
          const { listUsers } = await import('../users/user-actions.ts')
          await listUsers(storeOf(flags))
        }),
      { isDefault: true },
    )
    .addCommand(addCommand())
    .addCommand(stateCommand('block', 'blocked', 'cut a user off, everywhere, within two seconds'))
    .addCommand(stateCommand('unblock', 'active', 'let a blocked user in again'))
    .addCommand(linkCommand())
    .addCommand(rotateKeyCommand())
    .addHelpText('after', helpWith(['heddle users add ada --role admin', 'heddle users block bob']))
}

interface AddFlags extends CommonFlags {
  readonly role: UserRole
  readonly tenant?: string
  readonly passwordStdin?: boolean
  readonly url: string
}

function addCommand(): Command {
  const command = new Command('add')
    .summary('add a user')
    .description(
      'Add a user. Without --password-stdin it makes a link that sets the password: once, within 15 minutes.\n' +
        'Without a terminal the link goes to a file that only you can read.',
    )
    .argument('<name>', 'letters, digits and . _ @ + -')
    .addOption(
      new Option('--role <role>', 'what it may do')
        .choices(['viewer', 'operator', 'admin'])
        .default('viewer'),
    )
    .option('--tenant <name>', 'whose jobs and results it shares')
    .option('--password-stdin', 'the first line of standard input is the password')
    .addOption(urlOption())
  return withStore(command, 'one JSON object: { ok, name, role, state, … }')
    .addHelpText('after', helpWith(['heddle users add ada --role admin']))
    .action(async (name: string, flags: AddFlags) => {
      const { addUser } = await import('../users/user-actions.ts')
      const { role, tenant, passwordStdin = false, url } = flags
      await addUser({
        ...storeOf(flags),
        name,
        role,
        tenant,
        isPasswordGiven: passwordStdin,
        url,
      })
    })
}

function stateCommand(word: string, state: 'active' | 'blocked', summary: string): Command {
  return withStore(new Command(word).summary(summary), 'one JSON object: { ok, name, state }')
    .description(`${summary[0]!.toUpperCase()}${summary.slice(1)}.`)
    .argument('<name>', 'the name of the user')
    .addHelpText('after', helpWith([`heddle users ${word} bob`]))
    .action(async (name: string, flags: CommonFlags) => {
      const { changeUser } = await import('../users/user-actions.ts')
      await changeUser({ ...storeOf(flags), name, state })
    })
}

function linkCommand(): Command {
  const command = new Command('link')
    .summary('make a link that sets a new password')
    .description('Make a link that sets a new password: once, within 15 minutes.')
    .argument('<name>', 'the name of the user')
    .addOption(urlOption())
  return withStore(command, 'one JSON object: { ok, name, link or file, expiresAt }')
    .addHelpText('after', helpWith(['heddle users link ada']))
    .action(async (name: string, flags: CommonFlags & { readonly url: string }) => {
      const { linkUser } = await import('../users/user-actions.ts')
      await linkUser({ ...storeOf(flags), name, url: flags.url })
    })
}

function rotateKeyCommand(): Command {
  const command = new Command('rotate-key')
    .summary('sign cookies of sessions with a new key')
    .description(
      'Sign the cookies of sessions with a new key. Running servers use it within two seconds. Sessions stay: a cookie of\n' +
        'an earlier key is valid until its session is too old, and gets the new signature when it is used. After a\n' +
        'leak of the database or of cookies use --end-sessions: then everyone logs in again. Tokens are not affected.',
    )
    .option('--end-sessions', 'end all sessions, and refuse the cookies of earlier keys')
  return withStore(command, 'one JSON object: { ok, sessionsEnded }')
    .addHelpText('after', helpWith(['heddle users rotate-key --end-sessions']))
    .action(async (flags: CommonFlags & { readonly endSessions?: boolean }) => {
      const { rotateKey } = await import('../users/user-actions.ts')
      await rotateKey({ ...storeOf(flags), endSessions: flags.endSessions ?? false })
    })
}
