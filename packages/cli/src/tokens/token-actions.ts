/** `heddle tokens`: programs that may use a server. */
import type { TokenScope } from '@heddle/server'
import { commandLine, withPeople, type PeopleSettings } from '../users/with-people.ts'
import { printable } from '../text/terminal-text.ts'

export interface AddTokenSettings extends PeopleSettings {
  readonly name: string
  readonly scopes: readonly TokenScope[]
  readonly tenant: string | undefined
  /** Milliseconds. */
  readonly expiresIn: number | undefined
}

/** *Cancellation*: none; it reads a list. */
export function listTokens(settings: PeopleSettings): Promise<void> {
  return withPeople(settings, async ({ people, line, answer }) => {
    const tokens = await people.listTokens()
    answer({ tokens: tokens.map(({ hash: _hash, ...shown }) => shown) })
    if (tokens.length === 0)
      line('There are no tokens. Add one: heddle tokens add NAME --scope submit')
    for (const { id, name, scopes, revokedAt } of tokens) {
      const state = revokedAt === undefined ? scopes.join(', ') : 'revoked'
      line(`${id}  ${printable(name).padEnd(24)} ${state}`)
    }
  })
}

/** *Cancellation*: none; it writes a record. */
export function addToken(settings: AddTokenSettings): Promise<void> {
  return withPeople(settings, async ({ people, line, answer }) => {
    const { name, scopes, tenant, expiresIn } = settings
    const { by } = commandLine
    const { token, record } = await people.addToken({ name, scopes, tenant, by, expiresIn })
    await people.audit({
      ...commandLine,
      action: 'token added',
      target: record.name,
      detail: scopes.join(', '),
    })
    line('Keep it now: only its hash is stored.')
    line(token)
    answer({ id: record.id, name: record.name, token, scopes })
  })
}

/** *Cancellation*: none; it writes a record. */
export function revokeToken(settings: PeopleSettings & { readonly token: string }): Promise<void> {
  return withPeople(settings, async ({ people, line, answer }) => {
    const { id, name } = await people.revokeToken(settings.token)
    await people.audit({ ...commandLine, action: 'token revoked', target: name })
    line(`Revoked ${name}: refused within two seconds.`)
    answer({ id, name })
  })
}
