import type { Subject } from './upload-of.ts'

/** Milliseconds until an accepted version shows: for all packages, or by name. */
export type VisibleAfter = number | Readonly<Record<string, number>>

/** Which versions the registry has taken and does not show yet. */
export class Hidden {
  readonly #after: VisibleAfter
  readonly #now: () => number
  /** Keyed by package, then by version: when it becomes visible. */
  readonly #showAt = new Map<string, Map<string, number>>()

  constructor(after: VisibleAfter, now: () => number) {
    this.#after = after
    this.#now = now
  }

  accepted(name: string, version: string): void {
    const after = typeof this.#after === 'number' ? this.#after : (this.#after[name] ?? 0)
    if (after <= 0) return
    const versions = this.#showAt.get(name) ?? new Map<string, number>()
    // The second file of a version does not hide the first one again.
    if (!versions.has(version)) versions.set(version, this.#now() + after)
    this.#showAt.set(name, versions)
  }

  /** Shows everything now. */
  clear(): void {
    this.#showAt.clear()
  }

  /**
   * The answer for a client that does not see hidden versions. Undefined: there is nothing to
   * be seen.
   */
  without(subject: Subject, body: Buffer): Buffer | undefined {
    const hidden = this.#of(subject.package)
    if (hidden.size === 0) return body
    if (subject.version !== undefined) return hidden.has(subject.version) ? undefined : body
    return strip(body, hidden)
  }

  #of(name: string | undefined): ReadonlySet<string> {
    const now = this.#now()
    const versions = this.#showAt.get(name ?? '') ?? []
    return new Set(Array.from(versions).flatMap(([version, at]) => (at > now ? [version] : [])))
  }
}

interface Packument {
  versions?: Record<string, unknown>
  time?: Record<string, unknown>
  'dist-tags'?: Record<string, string>
}

function strip(body: Buffer, hidden: ReadonlySet<string>): Buffer | undefined {
  let document: Packument & Record<string, unknown>
  try {
    document = JSON.parse(body.toString()) as typeof document
  } catch {
    return body
  }
  const isPackument = document.versions !== undefined
  for (const version of hidden) {
    delete document.versions?.[version]
    delete document.time?.[version]
  }
  // A list of tags has them at its top.
  const tags = (isPackument ? document['dist-tags'] : document) as Record<string, unknown>
  for (const [tag, version] of Object.entries(tags ?? {})) {
    if (typeof version === 'string' && hidden.has(version)) delete tags[tag]
  }
  const isEmpty = isPackument && Object.keys(document.versions ?? {}).length === 0
  return isEmpty ? undefined : Buffer.from(JSON.stringify(document))
}
