/** Where the tab is: the address behind `#`, as a signal. */
import { signal, type ReadonlySignal } from '@preact/signals'
import { formatAddress, parseAddress, withQuery, type Address } from './route.ts'

const current = signal<Address>(parseAddress(globalThis.location?.hash ?? ''))

export const address: ReadonlySignal<Address> = current

globalThis.addEventListener?.('hashchange', () => {
  current.value = parseAddress(location.hash)
})

/** Goes to a view. `replace`: the back button does not return to the one before. */
export function go(to: string | Address, options: { readonly replace?: boolean } = {}): void {
  const next = typeof to === 'string' ? parseAddress(to) : to
  const text = formatAddress(next)
  if (text === formatAddress(current.value)) return
  if (options.replace) history.replaceState(null, '', text)
  else history.pushState(null, '', text)
  current.value = next
}

/** Changes words of the query of this view, without a step for the back button. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  go(withQuery(current.value, changes), { replace: true })
}
