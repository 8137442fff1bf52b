/**
 * Addresses of views: `#/runs/01J…/graph?node=compare&at=1200`.
 *
 * They stand behind `#`, so that the dashboard works below any path of any proxy, and from a file (docs/decisions/0501).
 *
 * Invariants, quoted by the tests:
 *  A1  parse(format(x)) is x, for every path and query of non-empty text.
 *  A2  Equal views have equal addresses: empty values are left out, the order of words is kept.
 */
export interface Address {
  /** Decoded segments: `['runs', '01J…', 'graph']`. */
  readonly path: readonly string[]
  readonly query: Readonly<Record<string, string>>
}

export function parseAddress(hash: string): Address {
  const text = hash.startsWith('#') ? hash.slice(1) : hash
  const at = text.indexOf('?')
  const pathText = at < 0 ? text : text.slice(0, at)
  const path = pathText
    .split('/')
    .filter((segment) => segment !== '')
    .map(decode)
  const query: Record<string, string> = {}
  if (at >= 0) {
    for (const [name, value] of new URLSearchParams(text.slice(at + 1))) {
      if (value !== '') query[name] = value
    }
  }
  return { path, query }
}

export function formatAddress({ path, query }: Address): string {
  const words = Object.entries(query).filter(([, value]) => value !== '')
  const search = words.length === 0 ? '' : `?${new URLSearchParams(words).toString()}`
  return `#/${path.map(encodeURIComponent).join('/')}${search}`
}

/** The address with some words of its query changed; undefined removes one. */
export function withQuery(
  address: Address,
  changes: Readonly<Record<string, string | undefined>>,
): Address {
  const query: Record<string, string> = { ...address.query }
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') delete query[name]
    else query[name] = value
  }
  return { path: address.path, query }
}

/** A link to a path, with a query if there is one. */
export function link(
  path: readonly string[],
  query: Readonly<Record<string, string>> = {},
): string {
  return formatAddress({ path, query })
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
