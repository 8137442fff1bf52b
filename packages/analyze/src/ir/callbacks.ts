/**
 * Which callee runs its callback when.
 *
 * By name, because these names mean the same everywhere: `map` runs its function before it returns,
 * `then` later, `on` at every event. Callbacks of functions outside of the table run later.
 */
import type { CallbackRole } from './program.ts'

const roles = new Map<string, CallbackRole>()

function all(role: CallbackRole, names: string): void {
  for (const name of names.split(' ')) roles.set(name, role)
}

all(
  'sync',
  'map filter forEach some every find findIndex findLast findLastIndex reduce reduceRight sort ' +
    'toSorted flatMap flat from replace replaceAll groupBy partition keyBy sortBy orderBy uniqBy ' +
    'mapValues mapKeys pickBy omitBy each eachRight times runInAsyncScope ' +
    'assert deepEqual describe memoize throttle debounce defineProperty ' +
    'curry getFromMapOrCreate getOrInsertComputed computeIfAbsent emplace untracked',
)
all('later', 'then catch finally nextTick queueMicrotask setImmediate requestIdleCallback')
all('timer', 'setTimeout requestAnimationFrame')
all('interval', 'setInterval')
all(
  'event',
  'on once addListener prependListener prependOnceListener addEventListener subscribe observe ' +
    'watch watchFile onmessage onAbort onabort tap tapAsync',
)
all('request', 'createServer createSecureServer handle route')
all('guarded', 'runExclusive withLock runLocked synchronized criticalSection singleFlight')

const verbs = new Set([
  'get',
  'post',
  'put',
  'patch',
  'delete',
  'del',
  'head',
  'options',
  'all',
  'use',
])
const routers = /(?:^|\.)(?:app|router|server|fastify|api|routes?|express|koa|hono)$/i

/** How a callee that is not part of the program runs the function it is given. */
export function roleOf(name: string, receiver: string, firstIsText: boolean): CallbackRole {
  if (verbs.has(name) && firstIsText && routers.test(receiver)) return 'request'
  return roles.get(name) ?? 'later'
}

export function isKnownRole(name: string): boolean {
  return roles.has(name)
}

const arrayMethods = new Set([
  'map',
  'forEach',
  'flatMap',
  'filter',
  'some',
  'every',
  'from',
  'each',
])

/** `items.map(async …)`: the calls overlap each other. */
export function startsMany(name: string): boolean {
  return arrayMethods.has(name)
}

/** Parameters that belong to one request: no other task has them. */
const requestNames =
  /^(?:ctx|context|req|request|res|response|reply|h|evt|event|msg|message|args|opts?|options|params|config|err|error|e|next|acc|this_1)$/

const requestTypes =
  /(?:Request|Response|Reply|Context|Options|Config|Params|Args|Event|Message|Init|Input|Props)$/

export function isRequestScoped(name: string, typeName: string | undefined): boolean {
  return requestNames.test(name) || (typeName !== undefined && requestTypes.test(typeName))
}
