import type { IncomingHttpHeaders } from 'node:http'
import type { Subject } from './upload-of.ts'

/**
 * What goes wrong, for which requests, and how often. The first rule that fits decides; without one a
 * request goes through.
 */
export interface FaultRule {
  // Selects requests: all given conditions must match.
  readonly method?: string
  /** The path as it was sent: a part of it, or a pattern. */
  readonly path?: string | RegExp
  readonly package?: string
  readonly version?: string
  /** Only uploads of a version. */
  readonly upload?: boolean
  /** How many requests it is for. No limit when absent. */
  readonly times?: number
  /** How many fitting requests pass before it starts. Default 0. */
  readonly skip?: number

  // What goes wrong.
  /** Answers with this instead of the registry's answer. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** A string as it is, anything else as JSON. */
  readonly body?: unknown
  /** The registry gets the request and does it; only its answer is replaced or cut. */
  readonly afterCommit?: boolean
  /** Answer before the body of the request has been read. */
  readonly early?: boolean
  /**
   * Cut the connection: while the request arrives (the registry sees nothing of it), before the
   * answer, or in the middle of the answer (the registry has done it).
   */
  readonly cut?: 'in-request' | 'before-answer' | 'in-answer'
  /** Milliseconds before anything else happens. */
  readonly delay?: number
  /** Never answer; the registry does it if `afterCommit` is set. */
  readonly hang?: boolean
  /** Send the answer in pieces of this many bytes, with `pause` between them. */
  readonly trickle?: { readonly bytes: number; readonly pause: number }
}

/** Requests in a time window, as registries count them: a refused one counts too. */
export interface RateLimit {
  readonly requests: number
  /** Milliseconds. */
  readonly per: number
  /** Only these methods. All when absent. */
  readonly methods?: readonly string[]
}

/** The rules and how often each was used. */
export class FaultRules {
  readonly #rules: { readonly rule: FaultRule; seen: number; used: number }[] = []

  constructor(rules: readonly FaultRule[]) {
    for (const rule of rules) this.add(rule)
  }

  add(rule: FaultRule): void {
    this.#rules.push({ rule, seen: 0, used: 0 })
  }

  clear(): void {
    this.#rules.length = 0
  }

  /** The rule for a request, counted as used. `stage` says whether the body has been read. */
  take(
    stage: 'head' | 'whole',
    request: {
      readonly method: string
      readonly path: string
      readonly headers: IncomingHttpHeaders
    },
    subject: Subject,
  ): FaultRule | undefined {
    for (const entry of this.#rules) {
      const { rule } = entry
      const isForHead = rule.cut === 'in-request' || rule.early === true
      if (isForHead !== (stage === 'head') || !fits(rule, request, subject)) continue
      if (entry.seen++ < (rule.skip ?? 0) || entry.used >= (rule.times ?? Infinity)) continue
      entry.used++
      return rule
    }
    return undefined
  }
}

function fits(
  rule: FaultRule,
  { method, path }: { readonly method: string; readonly path: string },
  subject: Subject,
): boolean {
  if (rule.method !== undefined && rule.method !== method) return false
  if (typeof rule.path === 'string' && !path.includes(rule.path)) return false
  if (rule.path instanceof RegExp && !rule.path.test(path)) return false
  if (rule.package !== undefined && rule.package !== subject.package) return false
  if (rule.version !== undefined && rule.version !== subject.version) return false
  return rule.upload === undefined || rule.upload === subject.isUpload
}
