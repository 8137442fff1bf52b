/**
 * Failures in five classes, and the reaction to each.
 *
 *   transient  the registry or the way to it       → again, after a read
 *   rate       too many requests                    → again, and all requests slow down
 *   auth       not allowed, or not as whom          → not again; a person has to act
 *   conflict   the version is there                 → a read decides whether it is ours
 *   poison     this package is not acceptable       → not again; its dependents are blocked
 *
 * The two tables below are all there is to it: which answer belongs to which class, and what a class
 * means. Texts of registries are read only where one status has two meanings.
 */
import { HeddleError, isError, type ErrorCode } from '@heddle/core'
import { longestRetryAfter, retryAfterOf } from './http/backoff.ts'
import type { HttpAnswer } from './http/request.ts'

export type ErrorClass = 'transient' | 'rate' | 'auth' | 'conflict' | 'poison'

export interface ClassPolicy {
  /** Whether the same upload may be made again, after a read has said that the version is absent. */
  readonly again: boolean
  /** Whether all requests to this registry slow down. */
  readonly slowsRun: boolean
  /** Whether the user has to act before a rerun can succeed. */
  readonly needsPerson: boolean
}

/** What is done about each class. */
export const classPolicies: Readonly<Record<ErrorClass, ClassPolicy>> = {
  transient: { again: true, slowsRun: false, needsPerson: false },
  rate: { again: true, slowsRun: true, needsPerson: false },
  auth: { again: false, slowsRun: false, needsPerson: true },
  conflict: { again: false, slowsRun: false, needsPerson: true },
  poison: { again: false, slowsRun: false, needsPerson: true },
}

/** The class of each code of this package. */
const classOfCode: Readonly<Partial<Record<ErrorCode, ErrorClass>>> = {
  HDL_REGISTRY_UNAVAILABLE: 'transient',
  HDL_REGISTRY_RATE: 'rate',
  HDL_REGISTRY_AUTH: 'auth',
  HDL_VERSION_CONFLICT: 'conflict',
  HDL_PACKAGE_REFUSED: 'poison',
  HDL_REGISTRY_UNSUPPORTED: 'poison',
  HDL_ARTIFACT_CHANGED: 'poison',
  HDL_VALUE_TOO_LARGE: 'poison',
}

/** The class of an error that a registry threw. Undefined for cancellation, deadlines and bugs. */
export function classOf(error: unknown): ErrorClass | undefined {
  return error instanceof HeddleError ? classOfCode[error.code as ErrorCode] : undefined
}

/**
 * Whether another try may help: not when a person has to act, nor when the registry asks for a longer pause
 * than a release waits.
 */
export function mayPass(error: unknown): boolean {
  const kind = classOf(error)
  if (kind === undefined || !classPolicies[kind].again) return false
  return ((error as HeddleError).retryAfter ?? 0) <= longestRetryAfter
}

/** Whether the same release ends the same way until the user has acted on an error with this code. */
export function needsPerson(code: string | undefined): boolean {
  const kind = classOfCode[code as ErrorCode]
  // The next release packs a changed archive again.
  return kind !== undefined && classPolicies[kind].needsPerson && code !== 'HDL_ARTIFACT_CHANGED'
}

/** Whether an error with this code means that the registry has refused the request. */
export function isRefusal(code: string | undefined): boolean {
  const kind = classOfCode[code as ErrorCode]
  return kind !== undefined && kind !== 'transient'
}

/**
 * Whether the registry may have carried out the request, although there was an error: an answer
 * that got lost, a gateway that did not wait for it.
 */
export function mayHaveHappened(error: unknown): boolean {
  return isError(error, 'HDL_REGISTRY_UNAVAILABLE') && error.details.outcome === 'unknown'
}

interface StatusRule {
  readonly from: number
  readonly to?: number
  /** Only for requests that change something. */
  readonly write?: true
  /** Only when the answer says this. */
  readonly says?: RegExp
  readonly is: ErrorClass
  readonly hint?: string
}

const otpHint =
  'The account wants a one-time password: pass one with the `otp` option, or use an automation token.'
const taken =
  /already (present|exists?|published)|cannot publish over|previously published|file (name )?.*already/i

/** The first rule that fits decides. */
const statusRules: readonly StatusRule[] = [
  { from: 429, is: 'rate' },
  { from: 401, says: /one-time pass|\botp\b/i, is: 'auth', hint: otpHint },
  { from: 401, is: 'auth', hint: 'The token is missing, wrong or expired.' },
  {
    from: 402,
    is: 'auth',
    hint: 'Private packages cost money there: publish with `access: "public"`.',
  },
  { from: 400, write: true, says: taken, is: 'conflict' },
  { from: 403, write: true, says: taken, is: 'conflict' },
  { from: 409, write: true, says: taken, is: 'conflict' },
  { from: 403, says: /one-time pass|\botp\b|two-factor/i, is: 'auth', hint: otpHint },
  { from: 403, says: /too similar|spam|not allowed to be used/i, is: 'poison' },
  { from: 403, is: 'auth', hint: 'The token is valid but may not do this for this package.' },
  {
    from: 404,
    write: true,
    is: 'auth',
    hint: 'Registries answer "not found" to an account that may not see a package: check the token, the scope and the registry address.',
  },
  // "Failed to save packument": two writes met. A version that is there has been found above.
  { from: 409, is: 'transient' },
  { from: 408, is: 'transient' },
  { from: 425, is: 'transient' },
  { from: 400, to: 499, is: 'poison' },
  { from: 500, to: 599, is: 'transient' },
]

/** What was asked for, for messages. */
export interface Asked {
  /** Without credentials. */
  readonly registry: string
  /** `PUT @scope/name@1.0.0`. */
  readonly action: string
  readonly write: boolean
  /** The uploaded version, if it is a version: named by a conflict. */
  readonly version?: { readonly package: string; readonly version: string; readonly hash: string }
}

/** What the registry said, short enough for a message: registries answer with JSON, proxies with pages. */
function saidBy(answer: HttpAnswer): string {
  const text = answer.body.subarray(0, 4096).toString('utf8').trim()
  const reason = /"(?:error|message|reason)"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1]
  const title = /<title>([^<]*)<\/title>/i.exec(text)?.[1]
  const plain = reason ?? title ?? (text.startsWith('<') ? '' : text)
  return plain.replaceAll(/\s+/g, ' ').slice(0, 300)
}

/** The error for an answer that is not a success. */
export function failureOf(answer: HttpAnswer, asked: Asked, wallTime: number): HeddleError {
  const { registry, action } = asked
  const { status } = answer
  const said = saidBy(answer)
  const words = `${said} ${answer.headers['www-authenticate'] ?? ''}`
  const rule = statusRules.find(
    ({ from, to = from, write, says }) =>
      status >= from &&
      status <= to &&
      (write === undefined || asked.write) &&
      (says === undefined || says.test(words)),
  )
  const location = status >= 300 && status < 400 ? answer.headers['location'] : undefined
  if (asked.write && location !== undefined) {
    const instead = `It redirects to ${location.slice(0, 200)}: configure the address that it redirects to.`
    const feature = `answer for ${action} at this address (status ${status})`
    return new HeddleError('HDL_REGISTRY_UNSUPPORTED', { registry, feature, instead })
  }
  const retryAfter = retryAfterOf(answer.headers['retry-after'], wallTime)
  const problem = `status ${status}${said === '' ? '' : `, ${said}`}`
  switch (rule?.is) {
    case 'rate':
      return new HeddleError('HDL_REGISTRY_RATE', {
        registry,
        action,
        tries: 1,
        retryAfter: retryAfter ?? 1_000,
      })
    case 'auth':
      return new HeddleError('HDL_REGISTRY_AUTH', {
        registry,
        action,
        status,
        said,
        hint: rule.hint ?? '',
      })
    case 'poison':
      return new HeddleError('HDL_PACKAGE_REFUSED', { registry, action, status, said })
    case 'conflict':
      return new HeddleError('HDL_VERSION_CONFLICT', {
        package: asked.version?.package ?? action,
        version: asked.version?.version ?? '',
        registry,
        expected: asked.version?.hash ?? 'nothing',
        found: `something the registry only says is there (${problem})`,
      })
    case 'transient':
    case undefined:
      return new HeddleError('HDL_REGISTRY_UNAVAILABLE', {
        registry,
        action,
        problem,
        outcome: asked.write && status >= 500 ? 'unknown' : 'not-done',
        tries: 1,
        retryAfter,
      })
  }
}
