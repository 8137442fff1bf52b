/** Tokens of programs and workers: add one, which is shown once, and revoke. */
import type { JSX } from 'preact'
import { addToken, listTokens, revokeToken, type Token } from '../../api/people.ts'
import { browserClock } from '../../kernel/clock.ts'
import { ask } from '../../parts/confirm.tsx'
import { ChecksField, ChoiceField, TextField } from '../../parts/field.tsx'
import { formatAge, formatDateTime } from '../../parts/format.ts'
import { icons } from '../../parts/icons.tsx'
import { Failed, Loading } from '../../parts/placeholders.tsx'
import { useResource } from '../../parts/resource.ts'
import { showSecret } from '../../parts/secret.tsx'
import { State } from '../../parts/state.tsx'
import { TableCard } from '../../parts/table.tsx'

const scopes = [
  ['read', 'read: everything that a viewer sees'],
  ['operate', 'operate: steer runs and campaigns'],
  ['submit', 'submit: jobs and campaigns'],
  ['worker', 'worker: claim and report work of the fleet'],
] as const

const day = 86_400_000
const lives = [
  ['0', 'until it is revoked'],
  [String(day), 'a day'],
  [String(30 * day), '30 days'],
  [String(365 * day), 'a year'],
] as const

export function Tokens(): JSX.Element {
  const { value, error, reload } = useResource((signal) => listTokens(signal), [])
  return (
    <TableCard
      title="Tokens"
      side={
        <button class="button" type="button" onClick={() => askForToken(reload)}>
          {icons.plus} Add a token
        </button>
      }
    >
      {error !== undefined && <Failed error={error} onRetry={reload} />}
      {value === undefined ? (
        error === undefined && <Loading rows={3} />
      ) : value.length === 0 ? (
        <p class="empty">No tokens. A worker needs one with the scope “worker”.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th>Name</th>
              <th>Scopes</th>
              <th>State</th>
              <th>Tenant</th>
              <th>Added</th>
              <th>
                <span class="sr">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {value.map((token) => (
              <TokenRow key={token.id} token={token} onChange={reload} />
            ))}
          </tbody>
        </table>
      )}
    </TableCard>
  )
}

function TokenRow({
  token,
  onChange,
}: {
  readonly token: Token
  readonly onChange: () => void
}): JSX.Element {
  const now = browserClock.wallTime()
  const { name, revoked_at: revoked, expires_at: expires } = token
  const isExpired = expires !== null && expires <= now
  const word = revoked !== null ? 'revoked' : isExpired ? 'expired' : 'valid'
  return (
    <tr>
      <td>
        <b>{name}</b>
      </td>
      <td class="soft">{token.scopes.join(', ')}</td>
      <td class="nowrap">
        <State state={word === 'valid' ? 'ok' : 'cancelled'} text={word} />{' '}
        {word === 'valid' && expires !== null && (
          <span class="quiet">ends {formatAge(expires, now)}</span>
        )}
      </td>
      <td class="soft">{token.tenant}</td>
      <td class="soft nowrap" title={formatDateTime(token.created_at)}>
        {formatAge(token.created_at, now)} by {token.created_by}
      </td>
      <td class="right">
        {word === 'valid' && (
          <button
            class="button small danger"
            type="button"
            aria-label={`Revoke ${name}`}
            onClick={() =>
              ask({
                title: `Revoke ${name}?`,
                consequence: `Programs and workers with this token are refused from now on. It cannot be undone.`,
                verb: `Revoke ${name}`,
                isDangerous: true,
                run: async () => {
                  await revokeToken(token.id)
                  onChange()
                  return `${name} is revoked.`
                },
              })
            }
          >
            Revoke
          </button>
        )}
      </td>
    </tr>
  )
}

function askForToken(onChange: () => void): void {
  const typed = { name: '', tenant: '', life: '0' }
  const chosen = new Set<(typeof scopes)[number][0]>(['read'])
  ask({
    title: 'Add a token?',
    consequence: 'The token is shown once. Whoever has it may do what its scopes say.',
    verb: 'Add the token',
    fields: (
      <>
        <TextField title="Name" into={typed} name="name" isRequired />
        <ChecksField title="Scopes" into={chosen} choices={scopes} />
        <ChoiceField title="Valid for" into={typed} name="life" choices={lives} />
        <TextField
          title="Tenant"
          into={typed}
          name="tenant"
          hint="Leave it empty for the default tenant."
        />
      </>
    ),
    run: async () => {
      if (chosen.size === 0) throw new Error('Choose at least one scope.')
      const { token, record } = await addToken({
        name: typed.name.trim(),
        scopes: [...chosen],
        ...(typed.tenant !== '' && { tenant: typed.tenant }),
        ...(typed.life !== '0' && { expires_in_ms: Number(typed.life) }),
      })
      showSecret({
        title: `The token ${record.name}`,
        note: 'It is shown only now. Send it as “Authorization: Bearer …”, or start a worker with --token.',
        text: token,
      })
      onChange()
      return `${record.name} is added.`
    },
  })
}
