/** `heddle users`: the users of a server. */
import { chmod, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { printable } from '../text/terminal-text.ts'
import { commandLine, withPeople, type PeopleContext, type PeopleSettings } from './with-people.ts'

export type UserRole = 'viewer' | 'operator' | 'admin'

export interface AddSettings extends PeopleSettings {
  readonly name: string
  readonly role: UserRole
  readonly tenant: string | undefined
  /** The password is the first line of standard input. */
  readonly isPasswordGiven: boolean
  /** Address of the server, for the link. */
  readonly url: string
}

/** *Cancellation*: none; it reads a list. */
export function listUsers(settings: PeopleSettings): Promise<void> {
  return withPeople(settings, async ({ people, line, answer }) => {
    const users = await people.listUsers()
    answer({
      users: users.map(({ name, role, state, tenant, createdAt }) => ({
        name,
        role,
        state,
        tenant,
        createdAt,
      })),
    })
    if (users.length === 0) line('There are no users. Add one: heddle users add NAME --role admin')
    for (const { name, role, state } of users) {
      line(`${printable(name).padEnd(24)} ${role.padEnd(10)} ${state}`)
    }
  })
}

/** *Cancellation*: none; it writes a record. */
export function addUser(settings: AddSettings): Promise<void> {
  return withPeople(settings, async (context) => {
    const { people, line, answer } = context
    const { name, role, tenant } = settings
    const password = settings.isPasswordGiven ? await readPassword() : undefined
    const user = await people.addUser({ name, role, tenant, password })
    await people.audit({ ...commandLine, action: 'user added', target: user.name, detail: role })
    line(`Added ${user.name} as ${role}.`)
    const link = password === undefined ? await giveLink(context, user.name, settings.url) : {}
    answer({ name: user.name, role, state: user.state, ...link })
  })
}

/** *Cancellation*: none; it writes a record. */
export function changeUser(
  settings: PeopleSettings & { readonly name: string; readonly state: 'active' | 'blocked' },
): Promise<void> {
  return withPeople(settings, async ({ people, line, answer }) => {
    const { state } = settings
    const { name } = await people.changeUser(settings.name, { state })
    const action = state === 'blocked' ? 'user blocked' : 'user changed'
    await people.audit({ ...commandLine, action, target: name, detail: state })
    line(
      state === 'blocked' ? `Blocked ${name}: cut off within two seconds.` : `Unblocked ${name}.`,
    )
    answer({ name, state })
  })
}

/** *Cancellation*: none; it writes a record. */
export function linkUser(
  settings: PeopleSettings & { readonly name: string; readonly url: string },
): Promise<void> {
  return withPeople(settings, async (context) => {
    const { name } = await context.people.findUser(settings.name)
    const link = await giveLink(context, name, settings.url)
    await context.people.audit({ ...commandLine, action: 'link made', target: name })
    context.answer({ name, ...link })
  })
}

/** *Cancellation*: none; it writes two records. */
export function rotateKey(
  settings: PeopleSettings & { readonly endSessions: boolean },
): Promise<void> {
  return withPeople(settings, async ({ people, line, answer }) => {
    const { endSessions } = settings
    const ended = await people.rotateKey({ endSessions })
    const detail = endSessions ? 'all sessions ended' : 'sessions kept'
    await people.audit({ ...commandLine, action: 'cookie key rotated', target: '', detail })
    line(
      endSessions
        ? `Rotated the key of cookies, and ended ${ended} sessions: everyone logs in again.`
        : 'Rotated the key of cookies. Sessions continue, and get the new signature when they are next used.',
    )
    answer({ sessionsEnded: ended })
  })
}

/** On a terminal it is shown; elsewhere it goes to a file that only this user can read: logs are read by others. */
async function giveLink(
  { people, line }: PeopleContext,
  name: string,
  url: string,
): Promise<object> {
  const { secret, expiresAt } = await people.makeLink(name)
  const link = `${url}/ui/#/link/${secret}`
  if (process.stdout.isTTY) {
    line(`Open this link within 15 minutes to set the password. It works once:\n  ${link}`)
    return { link, expiresAt }
  }
  const file = path.resolve(`heddle-link-${name.replaceAll(/[^\w.-]/g, '_')}.txt`)
  await writeFile(file, `${link}\n`, { mode: 0o600 })
  // The mode above counts for new files only.
  await chmod(file, 0o600)
  line(`The link that sets the password, for 15 minutes and once, is in ${file}.`)
  return { file, expiresAt }
}

async function readPassword(): Promise<string> {
  return (await text(process.stdin)).split(/\r?\n/, 1)[0]!
}
