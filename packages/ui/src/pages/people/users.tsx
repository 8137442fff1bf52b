/** Users: add, change the role, block, end sessions, make a link for the password. */
import { useSignal } from '@preact/signals'
import { Fragment, type JSX } from 'preact'
import { go } from '../../app/address.ts'
import {
  addUser,
  changeUser,
  listSessions,
  listUsers,
  makeLink,
  revokeSessions,
  type User,
} from '../../api/people.ts'
import { session, type Role } from '../../api/session.ts'
import { browserClock } from '../../kernel/clock.ts'
import { ask } from '../../parts/confirm.tsx'
import { ChoiceField, TextField } from '../../parts/field.tsx'
import { formatAge, formatDateTime, plural } from '../../parts/format.ts'
import { icons } from '../../parts/icons.tsx'
import { Failed, Loading } from '../../parts/placeholders.tsx'
import { useResource } from '../../parts/resource.ts'
import { showSecret } from '../../parts/secret.tsx'
import { State } from '../../parts/state.tsx'
import { TableCard } from '../../parts/table.tsx'

const roles = [
  ['viewer', 'viewer: sees everything, changes nothing'],
  ['operator', 'operator: starts, pauses, cancels, submits'],
  ['admin', 'admin: manages people as well'],
] as const

export function Users(): JSX.Element {
  const { value, error, reload } = useResource((signal) => listUsers(signal), [])
  const opened = useSignal<string | undefined>(undefined)
  return (
    <TableCard
      title="Users"
      side={
        <button class="button" type="button" onClick={() => askForUser(reload)}>
          {icons.plus} Add a user
        </button>
      }
    >
      {error !== undefined && <Failed error={error} onRetry={reload} />}
      {value === undefined ? (
        error === undefined && <Loading rows={3} />
      ) : value.length === 0 ? (
        <p class="empty">No users.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th>Role</th>
              <th>State</th>
              <th>Tenant</th>
              <th>Added</th>
              <th>
                <span class="sr">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {value.map((user) => (
              <Fragment key={user.name}>
                <UserRow
                  user={user}
                  isOpen={opened.value === user.name}
                  onOpen={() => (opened.value = opened.value === user.name ? undefined : user.name)}
                  onChange={reload}
                />
                {opened.value === user.name && (
                  <tr>
                    <td colSpan={6}>
                      <Sessions user={user} />
                    </td>
                  </tr>
                )}
              </Fragment>
            ))}
          </tbody>
        </table>
      )}
    </TableCard>
  )
}

interface UserRowProps {
  readonly user: User
  readonly isOpen: boolean
  readonly onOpen: () => void
  readonly onChange: () => void
}

const stateMarks = { active: 'ok', pending: 'waiting', blocked: 'blocked' } as const

function UserRow({ user, isOpen, onOpen, onChange }: UserRowProps): JSX.Element {
  const { name } = user
  const isSelf = session.value?.user?.name === name
  const isBlocked = user.state === 'blocked'
  return (
    <tr>
      <td>
        <b>{name}</b> {isSelf && <span class="quiet">you</span>}
      </td>
      <td>
        <button
          class="chip"
          type="button"
          disabled={isSelf}
          aria-label={`Role of ${name}: ${user.role}. Change it`}
          onClick={() => askForRole(user, onChange)}
        >
          {user.role}
        </button>
      </td>
      <td>
        <State state={stateMarks[user.state]} text={user.state} />
      </td>
      <td class="soft">{user.tenant}</td>
      <td class="soft nowrap" title={formatDateTime(user.created_at)}>
        {formatAge(user.created_at, browserClock.wallTime())}
      </td>
      <td class="right">
        <div class="row end">
          <button
            class="button plain small"
            type="button"
            aria-expanded={isOpen}
            aria-label={`Sessions of ${name}`}
            onClick={onOpen}
          >
            Sessions
          </button>
          <button
            class="button plain small"
            type="button"
            aria-label={`Password link for ${name}`}
            onClick={() => askForLink(user)}
          >
            Password link
          </button>
          <button
            class={`button small ${isBlocked ? '' : 'danger'}`}
            type="button"
            disabled={isSelf}
            aria-label={isBlocked ? `Unblock ${name}` : `Block ${name}`}
            onClick={() => (isBlocked ? askToUnblock(user, onChange) : askToBlock(user, onChange))}
          >
            {isBlocked ? 'Unblock' : 'Block'}
          </button>
        </div>
      </td>
    </tr>
  )
}

function Sessions({ user }: { readonly user: User }): JSX.Element {
  const { value, error, reload } = useResource((signal) => listSessions(user.name, signal), [])
  const now = browserClock.wallTime()
  if (error !== undefined) return <Failed error={error} onRetry={reload} />
  if (value === undefined) return <Loading rows={2} />
  if (value.length === 0) return <p class="quiet">{user.name} has no open session.</p>
  return (
    <div class="stack tight">
      <ul class="sessions">
        {value.map((open) => (
          <li key={open.id} class="row">
            <span class="mono">{open.id.slice(0, 8)}</span>
            <span class="soft">
              from {open.address}, logged in {formatAge(open.created_at, now)}, ends{' '}
              {formatAge(open.expires_at, now)}
            </span>
          </li>
        ))}
      </ul>
      <div>
        <button
          class="button small danger"
          type="button"
          onClick={() =>
            ask({
              title: `End the sessions of ${user.name}?`,
              consequence: `${plural(value.length, 'browser')} of ${user.name} must log in again. Tokens are not changed.`,
              verb: 'End the sessions',
              isDangerous: true,
              run: async () => {
                const { revoked } = await revokeSessions(user.name)
                reload()
                return `${plural(revoked, 'session')} of ${user.name} ended.`
              },
            })
          }
        >
          End all sessions
        </button>
      </div>
    </div>
  )
}

function askForUser(onChange: () => void): void {
  const isFirst = session.peek()?.is_open === true
  const typed = { name: '', role: isFirst ? 'admin' : 'viewer', tenant: '' }
  ask({
    title: 'Add a user?',
    consequence: isFirst
      ? 'From now on everyone must log in. You set your password in the next step.'
      : 'You get a link that sets the password. It works once, for 15 minutes: hand it over.',
    verb: 'Add the user',
    fields: (
      <>
        <TextField title="Name" into={typed} name="name" isRequired />
        <ChoiceField
          title="Role"
          into={typed}
          name="role"
          choices={isFirst ? roles.slice(2) : roles}
        />
        <TextField
          title="Tenant"
          into={typed}
          name="tenant"
          hint="Only a tenant sees its results and requests. Leave it empty for the default tenant."
        />
      </>
    ),
    run: async () => {
      const { user, link } = await addUser({
        name: typed.name.trim(),
        role: typed.role as Role,
        ...(typed.tenant !== '' && { tenant: typed.tenant }),
      })
      if (isFirst && link !== null) {
        // Nothing else may be called any more: the user who added it is sent there.
        go(link.replace(/^.*#/, '#'))
      } else {
        if (link !== null) showLink(user.name, link)
        onChange()
      }
      return `${user.name} is added.`
    },
  })
}

function showLink(name: string, path: string): void {
  showSecret({
    title: `A link for ${name}`,
    note: `It sets the password of ${name} once, within 15 minutes. It is shown only now.`,
    text: new URL(`..${path}`, document.baseURI).href,
  })
}

function askForLink({ name }: User): void {
  ask({
    title: `Make a password link for ${name}?`,
    consequence: `Whoever has the link can set the password of ${name} and is then logged in as ${name}. It works once, for 15 minutes.`,
    verb: 'Make the link',
    run: async () => {
      const { link } = await makeLink(name)
      showLink(name, link)
      return 'The link is made.'
    },
  })
}

function askForRole(user: User, onChange: () => void): void {
  const typed = { role: user.role as string }
  ask({
    title: `Change the role of ${user.name}?`,
    consequence: `${user.name} is ${user.role} now. The new role counts from the next request on.`,
    verb: 'Change the role',
    fields: <ChoiceField title="Role" into={typed} name="role" choices={roles} />,
    run: async () => {
      await changeUser(user.name, { role: typed.role as Role })
      onChange()
      return `${user.name} is ${typed.role} now.`
    },
  })
}

function askToBlock({ name }: User, onChange: () => void): void {
  ask({
    title: `Block ${name}?`,
    consequence: `All sessions of ${name} end, a login is refused, and workers of ${name} get no more work. It can be undone.`,
    verb: `Block ${name}`,
    isDangerous: true,
    run: async () => {
      await changeUser(name, { state: 'blocked' })
      onChange()
      return `${name} is blocked.`
    },
  })
}

function askToUnblock({ name }: User, onChange: () => void): void {
  ask({
    title: `Unblock ${name}?`,
    consequence: `${name} may log in again, with the same password and role as before.`,
    verb: `Unblock ${name}`,
    run: async () => {
      await changeUser(name, { state: 'active' })
      onChange()
      return `${name} may log in again.`
    },
  })
}
