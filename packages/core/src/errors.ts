/**
 * Every error Heddle makes, in one table.
 *
 * A code is never reused or renamed once released. Each entry describes the problem in one sentence,
 * with the actual values, and the repair in another. `docs/reference/errors.md` lists the same codes; a
 * test keeps table, page and types together.
 */

import { inspect } from 'node:util'

interface ErrorEntry<P> {
  /** What happened, with the values that matter. */
  readonly message: (p: P) => string
  /** Advice for the reader. */
  readonly help: string
  /** Whether doing the same again later can succeed. */
  readonly retryable: boolean
}

function entry<P>(retryable: boolean, message: (p: P) => string, help: string): ErrorEntry<P> {
  return { message, help, retryable }
}

/** The author of a cancellation. */
export type CancelSource = (typeof cancelSources)[number]

export const cancelSources = [
  'user',
  'deadline',
  'disconnect',
  'dependency-failed',
  'sibling-failed',
  'superseded',
  'drain',
  'shutdown',
  'takeover',
] as const

const quote = (name: string): string => `"${name}"`
const show = (value: unknown): string => {
  if (typeof value === 'string') return quote(value)
  try {
    return typeof value === 'object' && value !== null ? kindOf(value) : describe(value)
  } catch {
    // A proxy or a getter that throws.
    return `[${typeof value}]`
  }
}
/** The end of a sentence that was made elsewhere. */
const end = (sentence: string): string => (/[.?!]$/.test(sentence) ? sentence : `${sentence}.`)
const didYouMean = (suggestion: string | undefined): string =>
  suggestion === undefined ? '' : ` Did you mean ${quote(suggestion)}?`

/** The whole way of a long cycle is in the details; a message must fit on a screen. */
const shortPath = (path: readonly string[]): string =>
  path.length > 12
    ? [...path.slice(0, 6), `… ${path.length - 10} more …`, ...path.slice(-4)].join(' → ')
    : path.join(' → ')

/** One stays in its sentence; several get a line each. */
function list<T>(items: readonly T[], said: (item: T) => string): string {
  return items.length === 1 ? said(items[0]!) : items.map((item) => `\n  ${said(item)}`).join('')
}

/** The wrong fields of one input. */
export interface WrongInput {
  readonly node: string
  /** Path and problem of each wrong field: the first of them. */
  readonly issues: readonly string[]
  /** How many wrong fields are not named. None when absent. */
  readonly more?: number | undefined
}

const issuesText = ({ issues, more = 0 }: WrongInput): string => {
  const text = issues.join('; ')
  return more === 0 ? text : `${text}; and ${more} more`
}

/**
 * How much of an error is recorded or sent: causes inside one another, which may be circular, and errors that one error stands
 * for, of which an AggregateError may have thousands.
 */
export const errorBounds = { causes: 8, errors: 8 } as const

export const errorTable = {
  // Arguments and graphs: found before anything runs.
  HDL_BAD_OPTION: entry(
    false,
    (p: { option: string; value: unknown; expected: string }) =>
      `Option ${quote(p.option)} is ${show(p.value)}, expected ${end(p.expected)}`,
    'Correct the value where it is passed: the stack of the error has the line of code.',
  ),
  HDL_UNKNOWN_OPTION: entry(
    false,
    (p: { option: string; suggestion?: string | undefined }) =>
      `There is no option ${quote(p.option)}.${didYouMean(p.suggestion)}`,
    'Correct its name or leave it out; as it is, it would have no effect.',
  ),
  HDL_FLAG_UNUSED: entry(
    false,
    (p: { flag: string; command: string; why: string; instead: string }) =>
      `${p.flag} would have no effect in \`${p.command}\`: ${p.why}. Instead, ${end(p.instead)}`,
    'Change the command; nothing has been done.',
  ),
  HDL_NODE_TOO_OLD: entry(
    false,
    (p: { version: string; least: string }) =>
      `Heddle needs Node ${p.least} or newer; this is Node ${p.version}.`,
    'Install a newer Node, or add one to the project with `npm install --save-dev node@24`.',
  ),
  HDL_CYCLE: entry(
    false,
    (p: { path: readonly string[] }) => `The graph has a cycle: ${shortPath(p.path)}.`,
    'Remove one of these dependencies, or split a job so that the loop opens.',
  ),
  HDL_UNKNOWN_DEPENDENCY: entry(
    false,
    (p: {
      node: string
      dependency: string
      suggestion?: string | undefined
      /** Set when the reference was made by another graph, which may have a node of that name too. */
      isForeign?: boolean | undefined
    }) =>
      p.isForeign === true
        ? `${quote(p.node)} depends on a reference to ${quote(p.dependency)} that belongs to another graph.`
        : `${quote(p.node)} depends on ${quote(p.dependency)}, which is not in the graph.${didYouMean(p.suggestion)}`,
    'Add the dependency to the same graph first, or correct its name.',
  ),
  HDL_DUPLICATE_NODE: entry(
    false,
    (p: { node: string }) => `The graph already has a node ${quote(p.node)}.`,
    'Give each node its own name.',
  ),
  HDL_UNKNOWN_NODE: entry(
    false,
    (p: {
      node: string
      suggestion?: string | undefined
      /** Set when the reference was made by another graph, which may have a node of that name too. */
      isForeign?: boolean | undefined
    }) =>
      p.isForeign === true
        ? `The reference to ${quote(p.node)} belongs to another graph.`
        : `There is no node ${quote(p.node)}.${didYouMean(p.suggestion)}`,
    'Use a name that was added, or the reference that add() returned.',
  ),
  HDL_NOT_A_DEPENDENCY: entry(
    false,
    (p: { node: string; dependency: string }) =>
      `${quote(p.node)} asks for the result of ${quote(p.dependency)} without depending on it.`,
    'List the other node in `after`, so that it is finished before the input is made.',
  ),
  HDL_ALREADY_RUN: entry(
    false,
    () => 'This scheduler has already been run.',
    'Create a new Scheduler for each run.',
  ),
  HDL_RUN_ENDED: entry(
    false,
    (p: { action: string }) => `${p.action} was called after the run had ended.`,
    'Use `keepOpen: true` and close() to keep a run open for later work.',
  ),
  HDL_ILLEGAL_TRANSITION: entry(
    false,
    (p: { node: string; from: string; to: string }) =>
      `${quote(p.node)} cannot go from ${p.from} to ${p.to}.`,
    'This is a defect in Heddle: please report it with the seed or the journal of the run.',
  ),
  HDL_PLACE_UNAVAILABLE: entry(
    false,
    (p: { node: string; place: string }) =>
      `${quote(p.node)} runs in place ${quote(p.place)}, which this run does not have.`,
    'Change the job to `loop` or `thread`. Jobs in place `fleet` run on a server with workers: `heddle serve`, then `heddle work`.',
  ),

  // Outcomes of jobs.
  HDL_TIMEOUT: entry(
    true,
    (p: { what: string; limit: number; stage?: string }) =>
      `${p.what} timed out after ${p.limit} ms${p.stage === undefined ? '' : ` (${p.stage})`}.`,
    'Raise the limit, or make the work stop earlier when its signal aborts.',
  ),
  HDL_RETRY_AFTER: entry(
    true,
    (p: {
      retryAfter: number
      /** The reason that the job gave. */
      reason?: string | undefined
    }) =>
      `${p.reason === undefined ? 'The job asked' : `${withoutStop(p.reason)}: the job asked`} to be tried again in ${p.retryAfter} ms.`,
    'Raise `retries` if the job should be tried more often.',
  ),
  HDL_UNRESPONSIVE: entry(
    false,
    (p: { what: string; grace: number }) =>
      `${p.what} did not stop within ${p.grace} ms after its signal aborted; it was abandoned and may still be running.`,
    'Pass ctx.signal to the calls that the job awaits, or run it in a thread, which can be ended.',
  ),
  HDL_CANCELLED: entry(
    false,
    (p: {
      what: string
      source: CancelSource
      reason?: string | undefined
      by?: string | undefined
    }) =>
      `${p.what} was cancelled (${p.source}${p.by === undefined ? '' : ` by ${p.by}`})${p.reason === undefined ? '' : `: ${p.reason}`}.`,
    'Nothing to repair: a caller asked for it. `source`, `by` and `reason` say who and why.',
  ),
  HDL_COMMAND_FAILED: entry(
    true,
    (p: { command: string; problem: string; said: string }) =>
      `\`${p.command}\` failed: ${p.problem}${p.said === '' ? '' : `: ${p.said}`}`,
    'Run the command by hand to see more; its last output is in the message.',
  ),
  HDL_NO_RESULT: entry(
    false,
    (p: { node: string; state: string; cause?: string | undefined }) =>
      `${quote(p.node)} has no result: ${p.state}${p.cause === undefined ? '' : ` (${withoutStop(p.cause)})`}.`,
    'Check `result.ok` first, or look into `result.failed` and `result.blocked`.',
  ),

  // Growing graphs and durable steps.
  HDL_GRAPH_STARTED: entry(
    false,
    (p: { node: string }) => `The graph has been run: ${quote(p.node)} cannot be added any more.`,
    'Add all nodes before the run. What is known only while it runs is a map() or a subgraph().',
  ),
  HDL_ELEMENT_FAILED: entry(
    false,
    (p: { node: string; element: string; failed: number; attempts?: number; cause: string }) =>
      `Element ${p.element} of ${quote(p.node)} failed${(p.attempts ?? 1) > 1 ? ` after ${p.attempts} attempts` : ''}${p.failed > 1 ? `, the last of ${p.failed}` : ''}: ${withoutStop(p.cause)}.`,
    'The error of the element is the cause. `failures` says how many may fail before the map does.',
  ),
  HDL_DUPLICATE_ELEMENT: entry(
    false,
    (p: { node: string; key: string }) =>
      `Two elements of ${quote(p.node)} have the key ${quote(p.key)}.`,
    'Return another key for each element: after a restart they could not be distinguished.',
  ),
  HDL_GRAPH_INSIDE_ITSELF: entry(
    false,
    (p: {
      node: string
      /** The sub-graph that built it first; absent for the graph of the run. */ holder?:
        | string
        | undefined
    }) =>
      `The builder of ${quote(p.node)} returned a graph that it is inside of: ${p.holder === undefined ? 'the graph of the run' : `that of the sub-graph ${quote(p.holder)}`}.`,
    'Make a new graph in the builder: `subgraph(name, () => { const inner = new Graph(); … return inner })`.',
  ),
  HDL_SUBGRAPH_FAILED: entry(
    false,
    (p: { node: string; failed: string; state: string; cause?: string | undefined }) =>
      `The sub-graph ${quote(p.node)} did not succeed: ${quote(p.failed)} ${p.state}${p.cause === undefined ? '' : ` (${withoutStop(p.cause)})`}.`,
    'Look into `result.failed` for the nodes of the sub-graph.',
  ),
  HDL_STEP_CHANGED: entry(
    false,
    (p: { node: string; step: string; was: string; now: string }) =>
      `Step ${quote(p.step)} of ${quote(p.node)} is recorded with ${p.was}, and is now called with ${p.now}.`,
    'A job must make the same steps in the same order after a restart. Give a step a `key` when its place in the order can change. When the change is meant, give the job that makes the steps another `version` and allow changes, or start a new run from its node (`--from NODE`): it makes all its steps again.',
  ),
  HDL_WRONG_INPUT: entry(
    false,
    (
      p: WrongInput & {
        others?: readonly WrongInput[] | undefined
        /** Wrong inputs that are only counted. */
        unnamed?: { readonly nodes: number; readonly fields: number } | undefined
      },
    ) => {
      if (!Array.isArray(p.others)) {
        return `The input of ${quote(p.node)} is wrong: ${withoutStop(issuesText(p))}.`
      }
      const others = p.others as readonly WrongInput[]
      const { unnamed = { nodes: 0, fields: 0 } } = p
      const nodes = 1 + others.length + unnamed.nodes
      const lines = [p, ...others].map((each) => `${quote(each.node)}: ${issuesText(each)}`)
      if (unnamed.nodes > 0) lines.push(`and ${unnamed.fields} more in ${unnamed.nodes} nodes`)
      return `The inputs of ${nodes} nodes are wrong:${lines.map((line) => `\n  ${line}`).join('')}`
    },
    'Give the job what its `input` schema describes.',
  ),
  HDL_SCHEMA_FAILED: entry(
    false,
    (p: { node: string; reason: string }) =>
      `The schema for the input of ${quote(p.node)} failed: ${withoutStop(p.reason)}.`,
    'A schema returns a value, or issues for a wrong one. Repair `input` of the job.',
  ),
  HDL_NO_STEPS: entry(
    false,
    (p: { node: string; step: string }) =>
      `${quote(p.node)} called ctx.${p.step}(), which exists in loop jobs of a graph that runs, while they run.`,
    'Move the job to the loop and run it with run(), on a server as a graph started with POST /runs; await each step before the job returns.',
  ),
  HDL_STEP_OF_OUTER_JOB: entry(
    false,
    (p: { node: string; path: string; step: string }) =>
      `The step ${quote(p.path)} of ${quote(p.node)} called ctx.${p.step}() of a job that waits for it.`,
    'Use the context that the function of the step is given: `job({ name }, async (input, ctx) => …)`. A step that has succeeded is not called again after a restart, so the outer job would not find steps made inside it.',
  ),
  HDL_STEP_NOT_AWAITED: entry(
    false,
    (p: { node: string; step: string; job?: string | undefined }) =>
      `${quote(p.node)} returned and did not await ctx.${p.step}()${p.job === undefined ? '' : ` of the job ${quote(p.job)}`}.`,
    'Await each step before the job returns, several at once with `await Promise.all([…])`.',
  ),

  // Waiting: sync primitives, registry, admission.
  HDL_CLOSED: entry(
    false,
    (p: { what: string }) => `${p.what} is closed.`,
    'Your code closed it: do not use it afterwards.',
  ),
  HDL_NOT_HELD: entry(
    false,
    (p: { what: string }) => `${p.what} is not held by the caller.`,
    'Use it only between taking it and giving it back.',
  ),
  HDL_WOULD_DEADLOCK: entry(
    false,
    ({
      what,
      node,
      needed,
      resource,
      capacity,
    }: {
      what: string
      /** The node that asks for them, where it is known. */
      node?: string | undefined
      needed: number
      /** The scarce resource, where it has a name. */
      resource?: string | undefined
      capacity: number
    }) =>
      `${node === undefined ? what : quote(node)} needs ${needed} permits${resource === undefined ? '' : ` of ${quote(resource)}`} but there are only ${capacity}: it could never start.`,
    'Raise the capacity or ask for fewer permits.',
  ),
  HDL_SCOPE_FAILED: entry(
    false,
    (p: { count: number; first: string }) =>
      `${p.count} ${p.count === 1 ? 'child' : 'children'} of the scope failed, first: ${p.first}`,
    'See `errors` for all of them, in the order in which they happened.',
  ),
  HDL_CLOSE_FAILED: entry(
    false,
    (p: { what: string; key: string; count: number; cause: string }) =>
      `${p.what} could not close ${p.key}${p.count > 1 ? ` and ${p.count - 1} more` : ''}: ${p.cause}.`,
    'The resource may be left open outside the program; `errors` and `cause` say what its close threw.',
  ),
  HDL_TOO_MANY_WAITERS: entry(
    true,
    (p: { what: string; limit: number }) => `${p.what} already has ${p.limit} waiters.`,
    'Try again later, or raise the limit.',
  ),
  HDL_SUPERSEDED: entry(
    false,
    (p: { what: string; by: string }) => `${p.what} was superseded by ${p.by}.`,
    'A newer request of the same slot took its place: read the answer of that one.',
  ),
  HDL_GONE: entry(
    true,
    (p: { what: string }) => `${p.what} is no longer there.`,
    'Submit the work again.',
  ),
  HDL_OVERLOADED: entry(
    true,
    (p: { what: string; retryAfter: number }) =>
      `${p.what} is full; try again in ${p.retryAfter} ms.`,
    'Wait for the given time: it is computed from the measured rate.',
  ),
  HDL_TOO_MANY_REQUESTS: entry(
    true,
    (p: { what: string; retryAfter: number }) =>
      `${p.what} has used its share; try again in ${p.retryAfter} ms.`,
    'Wait for the given time, send fewer requests at a time, or ask the operator for a larger share.',
  ),
  HDL_DRAINING: entry(
    true,
    (p: { what: string; retryAfter?: number | undefined }) =>
      `${p.what} is draining and takes no new work.`,
    'Send the work to another instance, or wait for the restart.',
  ),

  // Jobs over HTTP.
  HDL_UNKNOWN_JOB: entry(
    false,
    (p: { job: string; suggestion?: string | undefined }) =>
      `There is no job ${quote(p.job)} here.${didYouMean(p.suggestion)}`,
    'Use a name that `GET /jobs` lists, or export the job from the module that is served.',
  ),
  HDL_BAD_INPUT: entry(
    false,
    (p: { what: string; problem: string }) => `${p.what}: ${p.problem}`,
    'Correct the request: it would fail in the same way again.',
  ),
  HDL_JOB_FAILED: entry(
    false,
    (p: { problem: string; retryable?: boolean | undefined }) => p.problem,
    'The message is that of the job; `cause` is the thrown error.',
  ),
  HDL_UNKNOWN_RESULT: entry(
    false,
    (p: { handle: string }) => `Nothing is known of ${quote(p.handle)}.`,
    'Submit the input again: the handle is the same, and the result is computed if it is not stored.',
  ),
  HDL_NO_SUCH_INDEX: entry(
    false,
    (p: { handle: string; index: number; total: number }) =>
      `${quote(p.handle)} has no result ${p.index}: it has ${p.total === 1 ? 'only 0' : `0 to -${p.total - 1}`}.`,
    'The newest result is 0, the one before it -1, and so on.',
  ),
  HDL_UNKNOWN_REQUEST: entry(
    false,
    (p: { request: string }) => `There is no request ${quote(p.request)}.`,
    'Use the id from the answer or the one sent as X-Request-Id; ids of long ago are forgotten.',
  ),
  HDL_SET_ASIDE: entry(
    false,
    (p: { handle: string; crashes: number }) =>
      `${quote(p.handle)} was set aside: the server has ended ${p.crashes} times while it was worked on.`,
    'Repair the job, then submit the input again.',
  ),
  HDL_REQUEST_EXISTS: entry(
    false,
    (p: { request: string }) => `A request ${quote(p.request)} is already waiting.`,
    'Send a new X-Request-Id with each request, or none.',
  ),
  HDL_NOT_JSON: entry(
    false,
    (p: { type: string | undefined }) =>
      `The request has ${p.type === undefined ? 'no content type' : `the content type ${quote(p.type)}`}; only JSON is taken.`,
    'Send `Content-Type: application/json`, also with an empty body: so no web page can send it unasked.',
  ),
  HDL_BODY_TOO_LARGE: entry(
    false,
    (p: { limit: number }) =>
      `The body of the request has more than ${p.limit} bytes, which is the limit of this route.`,
    'Send less, or pass the path or the address of a large input. For inputs of jobs the limit is `limits.body` of the server (`heddle serve --limit body=2MiB`).',
  ),
  HDL_BODY_ENCODED: entry(
    false,
    (p: { coding: string }) =>
      `The body of the request has the content encoding ${quote(p.coding)}; only a plain body is taken.`,
    'Send the body uncompressed, without `Content-Encoding`. To save bytes on the way, decompress in a proxy in front of the server.',
  ),
  HDL_FORBIDDEN_HOST: entry(
    false,
    (p: { host: string; own: string }) =>
      `This server is not called ${quote(p.host)}: it listens on ${p.own}, for this machine only.`,
    'Call it by that name, as `localhost` or as 127.0.0.1. A proxy in front of it sends `Host: localhost`.',
  ),
  HDL_FORBIDDEN_ORIGIN: entry(
    false,
    (p: { origin: string }) => `A page of ${quote(p.origin)} may not change anything here.`,
    'Only programs and pages of the same host and port may: let the server of the page send the request.',
  ),
  HDL_NO_ROUTE: entry(
    false,
    (p: { method: string; path: string }) =>
      `There is no ${p.method} ${p.path}. GET /openapi.json lists what there is.`,
    'Correct the address of the request.',
  ),
  HDL_METHOD_NOT_ALLOWED: entry(
    false,
    (p: { method: string; path: string; allowed: readonly string[] }) =>
      `${p.path} has no ${p.method}, only ${p.allowed.join(', ')}.`,
    'Use one of the methods that the header `Allow` names.',
  ),
  HDL_UNAUTHENTICATED: entry(
    false,
    (p: { what: string; problem?: string | undefined }) =>
      `${p.what} needs a caller that is logged in, or a token${p.problem === undefined ? '' : `: ${p.problem}`}.`,
    'Log in, or send `Authorization: Bearer TOKEN` with a token of `heddle tokens add`.',
  ),
  HDL_FORBIDDEN: entry(
    false,
    (p: { what: string; needs: string }) => `${p.what} needs the right "${p.needs}".`,
    'Ask an admin for the role or for a token with the scope.',
  ),
  HDL_BAD_LOGIN: entry(
    false,
    () => 'The name or the password is wrong.',
    'Try again, or ask an admin for a link that sets a new password.',
  ),
  HDL_ACCOUNT_BLOCKED: entry(
    false,
    (p: { name: string }) => `The account ${quote(p.name)} is blocked.`,
    'Ask an admin to unblock it: `heddle users unblock NAME`.',
  ),
  HDL_CSRF: entry(
    false,
    (p: { what: string }) => `${p.what} came without the token of this session.`,
    'Send the header `X-CSRF-Token` with the value that GET /session returns.',
  ),
  HDL_BAD_LINK: entry(
    false,
    () => 'This link was used already, is too old, or is not complete.',
    'Ask for another one: `heddle users link NAME`.',
  ),
  HDL_NAME_TAKEN: entry(
    false,
    (p: { name: string }) => `The name ${quote(p.name)} is taken.`,
    'Choose another name.',
  ),
  HDL_UNKNOWN_USER: entry(
    false,
    (p: { name: string }) => `There is no user ${quote(p.name)}.`,
    'List them with `heddle users`.',
  ),
  HDL_UNKNOWN_TOKEN: entry(
    false,
    (p: { token: string }) => `There is no token ${quote(p.token)}.`,
    'List them with `heddle tokens`.',
  ),
  HDL_LAST_ADMIN: entry(
    false,
    (p: { name: string }) => `${quote(p.name)} is the last active admin.`,
    'Make another admin first.',
  ),
  HDL_OPEN_TO_OTHERS: entry(
    false,
    (p: { host: string }) =>
      `The server would listen on ${p.host}, where others reach it, and it has neither users nor tokens.`,
    'Add an admin first: `heddle users add NAME --role admin`. Or listen on 127.0.0.1.',
  ),
  HDL_UNKNOWN_GRAPH: entry(
    false,
    (p: { graph: string; suggestion?: string | undefined }) =>
      `This server has no graph ${quote(p.graph)}.${didYouMean(p.suggestion)}`,
    'Export it from the module that is served: `export const graphs = { nightly: () => graph }`. GET /graphs lists them.',
  ),
  HDL_UNKNOWN_SCHEDULE: entry(
    false,
    (p: { schedule: string; suggestion?: string | undefined }) =>
      `There is no schedule ${quote(p.schedule)}.${didYouMean(p.suggestion)}`,
    'List them with `heddle schedules`. Exported ones are called exported:NAME, those made over HTTP made:NAME.',
  ),
  HDL_SCHEDULE_EXPORTED: entry(
    false,
    (p: { schedule: string }) =>
      `The schedule ${quote(p.schedule)} is exported by the served module and cannot be deleted here.`,
    'Pause it, or take it out of the module.',
  ),
  HDL_UNKNOWN_START: entry(
    false,
    (p: { start: string }) => `No start ${quote(p.start)} waits for its time.`,
    'It has started, was cancelled, or never existed: GET /starts lists them.',
  ),
  HDL_NOT_STEERABLE: entry(
    false,
    (p: { run: string; action: string }) =>
      `Run ${p.run} cannot be ${p.action} here: this server does not run it.`,
    'Ask the process that runs it, or the server that has its graph.',
  ),
  HDL_CANNOT_LISTEN: entry(
    false,
    (p: { host: string; port: number; problem: string }) =>
      `The server cannot listen on ${p.host}, port ${p.port}: ${p.problem}.`,
    'Take another port (0 takes a free one) or another address, or end the program that has it.',
  ),

  // Threads.
  HDL_THREAD_MODULE: entry(
    false,
    (p: { job: string }) => `Job ${quote(p.job)} leaves the loop but has no \`module\`.`,
    'Add `module: import.meta.url` (in CommonJS `module: __filename`), so that a thread or another machine can load the job.',
  ),
  HDL_THREAD_FILE: entry(
    false,
    (p: { bundle: string }) =>
      `Heddle is part of the bundle ${p.bundle}, and the file that its threads start from is not there.`,
    'Add `@heddle/core/thread` to the entry points of the bundler under the name `heddle-thread`, so that heddle-thread.js lies beside the bundle; or mark `@heddle/core` as external. See docs/guide/bundlers.md.',
  ),
  HDL_DUPLICATE_JOB: entry(
    false,
    (p: { job: string; module: string; first: string; second: string }) =>
      `Module ${p.module} defines two jobs ${quote(p.job)}: at ${p.first} and at ${p.second}.`,
    'Give each job of a module its own name: a thread finds a job by its module and name. After an edit of a module that this process has loaded already, restart the process.',
  ),
  HDL_THREAD_IMPORT: entry(
    false,
    (p: { job: string; module: string; cause: string }) =>
      `Module ${p.module} could not be loaded in a thread for ${quote(p.job)}: ${p.cause}.`,
    'Repair the module. Each thread evaluates it again: its top level must work there too.',
  ),
  HDL_JOB_NOT_FOUND: entry(
    false,
    (p: { job: string; module: string; found: readonly string[] }) =>
      `Module ${p.module} was loaded in a thread but defines no job ${quote(p.job)}; it defines: ${p.found.join(', ') || 'none'}.`,
    'Define the job at the top level of that module, not inside a function.',
  ),
  HDL_THREAD_CRASHED: entry(
    true,
    (p: { job: string; cause: string }) => `The thread that ran ${quote(p.job)} ended: ${p.cause}.`,
    'The job ended its thread (exit, uncaught error or memory). Other jobs are not affected. Memory is `threads: { memory }` of a run, --thread-memory on the command line.',
  ),
  HDL_QUARANTINED: entry(
    false,
    (p: { job: string; crashes: number }) =>
      `${quote(p.job)} has ended ${p.crashes} threads in a row and is not started again.`,
    'Repair the job, then call release() on the pool or start a new one.',
  ),
  HDL_NOT_CLONEABLE: entry(
    false,
    (p: { what: string; cause: string; action?: string }) =>
      `${p.what} cannot ${p.action ?? 'be sent to another thread'}: ${p.cause}.`,
    'Use plain data: no functions, class instances with private state, or open handles.',
  ),
  HDL_LOOP_BLOCKED: entry(
    false,
    (p: { longest: number; limit: number; blame: string }) =>
      `The event loop was blocked for ${p.longest.toFixed(1)} ms, the limit is ${p.limit} ms: ${p.blame}.`,
    'Move that work to a thread, or cut it into pieces that yield.',
  ),

  // Journal.
  HDL_GRAPH_CHANGED: entry(
    false,
    (p: { run: string; differences: readonly string[] }) =>
      `The graph is not the one of run ${p.run}: ${p.differences.join('; ')}.`,
    'Start a new run, or allow the changes: what succeeded and did not change is kept, the rest runs.',
  ),
  HDL_NODE_SET_ASIDE: entry(
    false,
    (p: { node: string; interruptions: number; run: string }) =>
      `${quote(p.node)} was set aside: the process of run ${p.run} has ended ${p.interruptions} times while it was running.`,
    'Look for what ends the process (memory, process.exit, a native module). `heddle runs retry RUN` runs the node again.',
  ),
  HDL_RUN_FINISHED: entry(
    false,
    (p: { run: string; nodes: number }) =>
      `Run ${p.run} has finished: all of its ${p.nodes} nodes have succeeded.`,
    'There is nothing to resume. Start a new run for the changed graph.',
  ),
  HDL_UNKNOWN_RUN: entry(
    false,
    (p: {
      run: string
      title?: string | undefined
      address: string
      suggestion?: string | undefined
      /** A run of a part of the graph, which is taken only when it is named. */
      partial?: string | undefined
      /** The nodes that it was limited to. */
      only?: readonly string[] | undefined
    }) => {
      const title = p.title === undefined ? '' : ` of ${quote(p.title)}`
      const which =
        p.run === 'unfinished'
          ? `run${title} with work left`
          : p.run === 'earlier'
            ? `earlier run${title} to take results from`
            : `run ${quote(p.run)}`
      const only = p.only?.map(quote).join(', ')
      const passed = p.partial === undefined ? '' : ` Run ${p.partial} was limited to ${only}.`
      return `There is no ${which} in ${p.address}.${passed}${didYouMean(p.suggestion)}`
    },
    'List the runs with `heddle runs`, and name one by its id.',
  ),
  HDL_AMBIGUOUS_RUN: entry(
    false,
    (p: { run: string; address: string; candidates: readonly string[] }) =>
      `${quote(p.run)} can mean several runs in ${p.address}: ${p.candidates.join(', ')}.`,
    'Type more of the id, or `last` for the newest run.',
  ),
  HDL_RUN_EXISTS: entry(
    false,
    (p: { run: string; address: string }) => `Run ${p.run} is already in ${p.address}.`,
    'Make a new id with newRunId(), or resume that run.',
  ),
  HDL_RUN_LOST: entry(
    false,
    (p: { run: string; epoch: number }) =>
      `Run ${p.run} was taken over by another process after epoch ${p.epoch}: nothing was recorded by this one since then.`,
    'The other process continues the run. A run is taken over when its process was silent for longer than its lease, or when the folder `.writers` beside a journal file was deleted.',
  ),
  HDL_KEY_TAKEN: entry(
    false,
    (p: { key: string; run: string }) => `The key ${quote(p.key)} belongs to run ${p.run}.`,
    'Wait for that run, resume it, or choose another key.',
  ),
  HDL_JOURNAL_NEWER: entry(
    false,
    (p: { path: string; found: number; known: number }) =>
      `${p.path} has schema version ${p.found}; this version of Heddle knows versions up to ${p.known}.`,
    'Update Heddle, or use another file: an older version would not understand its content.',
  ),
  HDL_JOURNAL_DAMAGED: entry(
    false,
    (p: {
      path: string
      problem: string
      runs: number
      rows: number
      saved?: string | undefined
    }) =>
      `${p.path} is damaged (${p.problem}); ${p.runs} run${p.runs === 1 ? '' : 's'} with ${p.rows} rows can be read${p.saved === undefined ? '' : ` and were saved to ${p.saved}`}.`,
    'The damaged file is as it was. Continue with the saved part or with a backup, and check the disk.',
  ),
  HDL_JOURNAL_GONE: entry(
    false,
    (p: { path: string; problem: string }) =>
      `The journal ${p.path} cannot be written any more: ${p.problem}.`,
    'What this process has recorded since then is lost. Run again, and leave the journal and the files beside it in their place until the run has ended.',
  ),

  // Command line.
  HDL_NO_JOURNAL: entry(
    false,
    (p: { path: string }) => `There is no journal ${p.path}: no run was recorded there.`,
    'Record one with `heddle run`, or name the file with `--journal sqlite:FILE`.',
  ),
  HDL_NOT_REPRODUCIBLE: entry(
    false,
    (p: { run: string; problem: string }) =>
      `Run ${p.run} does not come out the same when it is played again: ${p.problem}.`,
    'Its graph or its limits were changed while it ran. `heddle runs show` has its history.',
  ),
  HDL_NO_MODULE: entry(
    false,
    (p: { file: string; problem: string; suggestion?: string | undefined }) =>
      `${p.file} ${p.problem}.${didYouMean(p.suggestion)}`,
    'Name a TypeScript or JavaScript module, from the current folder.',
  ),
  HDL_LOAD_FAILED: entry(
    false,
    (p: { file: string; action: string; cause: string; at?: string | undefined }) =>
      `${p.file} could not ${p.action}: ${p.cause}${p.at === undefined ? '' : ` (${p.at})`}`,
    'Repair the module: nothing has been started.',
  ),
  HDL_NOT_A_GRAPH: entry(
    false,
    (p: { file: string; found: string }) => `${p.file} gives no graph: ${p.found}.`,
    'Write `export default graph`, or export a function that returns one: `export default async (args) => graph`.',
  ),

  // Cache and files.
  HDL_VALUE_TOO_LARGE: entry(
    false,
    (p: { key: string; bytes: number; limit: number }) =>
      `The value of ${quote(p.key)} has ${p.bytes} bytes, the limit is ${p.limit}.`,
    'Raise the limit, or store the value elsewhere and cache its address.',
  ),
  HDL_STORE_FAILED: entry(
    true,
    (p: { store: string; action: string; cause: string }) =>
      `${p.store} could not ${p.action}: ${p.cause}.`,
    'Of a file: check disk space and permissions. Of a database: check the address, whether it is up and the rights of the user, with `heddle doctor --store ADDRESS`. Nothing that was acknowledged is lost.',
  ),
  HDL_ROW_REFUSED: entry(
    false,
    (p: { store: string; cause: string }) => `${p.store} cannot hold a row: ${p.cause}.`,
    'Look at the value that it names: nothing of that write was written. Other writes are not affected.',
  ),
  HDL_NO_DRIVER: entry(
    false,
    (p: { database: string; driver: string }) =>
      `${p.database} is reached with the package ${quote(p.driver)}, which is not installed.`,
    'Install it beside your program: `npm install pg`.',
  ),
  HDL_OWNERSHIP_LOST: entry(
    true,
    (p: { shard: number; epoch: number }) =>
      `Shard ${p.shard} has another owner since epoch ${p.epoch}: nothing of this write was stored.`,
    'Send the request again: the server that owns the shard now answers it.',
  ),
  HDL_NOT_OWNER: entry(
    true,
    (p: { shard: number; retryAfter: number; owner?: string }) =>
      `This server does not own shard ${p.shard}, or is not sure that it still does.${
        p.owner === undefined ? '' : ` Its owner is at ${p.owner}.`
      }`,
    'Send the request again: it is forwarded to the owner as soon as there is one.',
  ),
  HDL_LOCKED: entry(
    true,
    (p: { path: string; holder: string }) => `${p.path} is held by ${p.holder}.`,
    'Wait for the holder to finish, or end it; the lock is freed by the system when it dies.',
  ),
  HDL_RESTORE_CONFLICT: entry(
    false,
    (p: { path: string; kept: string }) =>
      `${p.path} was edited while it was changed temporarily; the original is kept in ${p.kept}.`,
    'Merge the two files by hand, then delete the kept one.',
  ),

  // Artifacts: files that jobs leave.
  HDL_NO_ARTIFACTS: entry(
    false,
    (p: { node: string; artifact: string }) =>
      `${quote(p.node)} cannot write the artifact ${quote(p.artifact)}: nothing keeps artifacts here.`,
    'Run the graph with a journal, which keeps them beside itself, or with the option `artifacts: { store }`.',
  ),
  HDL_ARTIFACT_QUOTA: entry(
    false,
    (p: { run: string; quota: string }) =>
      `The artifacts of run ${p.run} would take more than their quota of ${p.quota}.`,
    'Write less, or raise `artifacts.quota` in the options of the run.',
  ),
  HDL_ARTIFACT_TAKEN: entry(
    false,
    (p: { run: string; artifact: string; by: string; holder: string }) =>
      `The artifact ${quote(p.artifact)} of run ${p.run} was written by ${quote(p.holder)}, and ${quote(p.by)} may not replace it.`,
    'Give each artifact of a run a name of its own; for elements of a map, put the index or the key into it.',
  ),
  HDL_ARTIFACT_MISMATCH: entry(
    false,
    (p: { artifact: string; expected: string; found: string }) =>
      `The artifact ${quote(p.artifact)} differs from its announcement: expected ${p.expected}, found ${p.found}.`,
    'Send the bytes that length and checksum were made from, from the beginning.',
  ),
  HDL_ARTIFACT_BUSY: entry(
    true,
    (p: { artifact: string }) =>
      `The same upload of the artifact ${quote(p.artifact)} is being received already.`,
    'Wait until it has ended, then ask how much has arrived.',
  ),
  HDL_UNKNOWN_ARTIFACT: entry(
    false,
    (p: { run: string; artifact: string }) => `Run ${p.run} has no artifact ${quote(p.artifact)}.`,
    '`heddle runs artifacts RUN` lists those that it has.',
  ),
  HDL_ARTIFACT_DAMAGED: entry(
    false,
    (p: { run: string; artifact: string; problem: string }) =>
      `The artifact ${quote(p.artifact)} of run ${p.run} is damaged: ${p.problem}.`,
    'Run the node that wrote it again: `heddle runs retry RUN --from NODE`.',
  ),
  // The fleet: leases, workers, campaigns.
  HDL_LEASE_ENDED: entry(
    false,
    (p: { lease: string; reason: string }) =>
      `Lease ${quote(p.lease)} is not held by this worker any more (${p.reason}).`,
    'Stop this piece of work and claim again: earlier reports count, the rest goes to other workers.',
  ),
  HDL_WORKER_TAKEN: entry(
    false,
    (p: { worker: string }) => `The worker id ${quote(p.worker)} belongs to another user or token.`,
    'Make a new random id, such as a UUID, in each worker process, and use one token for its whole life.',
  ),
  HDL_PROTOCOL_VERSION: entry(
    false,
    (p: { worker: string; server: string }) =>
      `The worker speaks versions ${p.worker} of the fleet protocol, this server ${p.server}.`,
    'Install a worker that speaks one of the versions of the server: `npm install @heddle/worker@latest`.',
  ),
  HDL_UNKNOWN_CAMPAIGN: entry(
    false,
    (p: { campaign: string }) => `There is no campaign ${quote(p.campaign)}.`,
    'Use an id that `GET /campaigns` lists.',
  ),
  HDL_JOB_VERSION: entry(
    true,
    (p: { job: string; wanted: string; known: string }) =>
      `${quote(p.job)} is requested in version ${p.wanted}; this worker has ${p.known}.`,
    'Update the module of the worker, or start a worker that has the version.',
  ),

  // Analysis.
  HDL_NO_SUCH_SOURCE: entry(
    false,
    (p: { path: string }) => `There is nothing to analyse at ${quote(p.path)}.`,
    'Name a file, a folder or a glob that has TypeScript or JavaScript files, from the current folder.',
  ),
  HDL_BAD_TARGET: entry(
    false,
    (p: { target: string; problem: string }) => `${quote(p.target)} ${p.problem}.`,
    'Write `file.ts`, `file.ts:120-180`, `file.ts#function`, `-` or a folder.',
  ),
  HDL_MODEL_INVALID: entry(
    false,
    (p: { file: string; at: string; problem: string }) =>
      `The model file ${p.file} cannot be used: ${p.at === '' ? 'it' : p.at} ${p.problem}.`,
    'Correct the file; docs/guide/models.md describes every field.',
  ),
  HDL_MODEL_UNREADABLE: entry(
    false,
    (p: { file: string; cause: string }) => `The model file ${p.file} cannot be read: ${p.cause}.`,
    'Check the path in `models` of the configuration; it is relative to the configuration file.',
  ),
  HDL_ANALYZE_CONFIG: entry(
    false,
    (p: { file: string; problem: string; suggestion?: string | undefined }) =>
      `${p.file} ${p.problem}.${didYouMean(p.suggestion)}`,
    'Repair the settings of the analysis; docs/guide/analyze.md lists them all.',
  ),
  HDL_BASELINE_INVALID: entry(
    false,
    (p: { file: string; problem: string }) => `The baseline ${p.file} ${p.problem}.`,
    'Restore it from version control, or write a new one with `heddle analyze --write-baseline`.',
  ),
  HDL_UNKNOWN_RULE: entry(
    false,
    (p: { rule: string; suggestion?: string | undefined }) =>
      `There is no rule ${quote(p.rule)}.${didYouMean(p.suggestion)}`,
    'List the rules with `heddle analyze --explain`.',
  ),

  // Release: workspace and plan.
  HDL_NO_WORKSPACE: entry(
    false,
    (p: { folder: string }) =>
      `There is no package.json or pyproject.toml in ${p.folder} or in a folder above it.`,
    'Run the command inside the repository that you want to release.',
  ),
  HDL_WORKSPACE_INVALID: entry(
    false,
    (p: {
      root: string
      problems: readonly {
        readonly file: string
        readonly line?: number | undefined
        readonly problem: string
        readonly todo: string
      }[]
    }) =>
      `${p.root} cannot be released: ${list(p.problems, ({ file, line, problem, todo }) => `${file}${line === undefined ? '' : `:${line}`}: ${problem}. ${todo}`)}`,
    'Correct these files. The list is complete, and nothing has been built or published.',
  ),
  HDL_PACKAGE_CYCLE: entry(
    false,
    (p: { cycles: readonly (readonly string[])[] }) =>
      `Packages need each other in a circle, so none of them can be released first: ${list(p.cycles, (path) => path.join(' → '))}`,
    'Turn one of these dependencies into a peerDependency or a devDependency, or move what both need to a package of its own.',
  ),
  HDL_PLAN_INVALID: entry(
    false,
    (p: {
      problems: readonly {
        readonly package: string
        readonly dependency: string
        readonly problem: string
      }[]
    }) =>
      `The plan would release packages that cannot be installed: ${list(p.problems, ({ problem }) => `${problem}.`)}`,
    'Release the missing packages too, or correct the ranges; nothing has been uploaded.',
  ),
  HDL_PLAN_STALE: entry(
    false,
    (p: { restored: readonly string[] }) =>
      `The plan was made before this was repaired, which a killed release had left unfinished: ${list(p.restored, (each) => each)}`,
    'Make the plan again; everything is repaired now, and nothing has been uploaded.',
  ),
  HDL_CHANGES_PENDING: entry(
    false,
    (p: { packages: readonly string[] }) =>
      `Changesets of these packages have not been turned into versions yet: ${list(p.packages, (each) => each)}`,
    'Run `heddle release version`: it writes versions and changelogs and commits them. Or publish the versions of the manifests with `--from manifests`.',
  ),
  HDL_TREE_DIRTY: entry(
    false,
    (p: { files: readonly string[] }) =>
      `The work tree differs from its commit in ${p.files.length === 1 ? 'one file' : `${p.files.length} files`}: ${list(p.files.slice(0, 10), (file) => file.trim())}`,
    'Commit or stash the changes. Only `heddle release publish` can go ahead with them, with --allow-dirty: its Git tags then point to a commit without them.',
  ),
  HDL_VERSION_TAGGED: entry(
    false,
    (p: { package: string; version: string; tag: string; commit: string }) =>
      `${p.package}@${p.version} was made already: the Git tag ${p.tag} points to commit ${p.commit.slice(0, 12)}. No file has been changed.`,
    'Another branch has released this version. Merge that release first, or write a version that is free into the manifest and commit it.',
  ),
  HDL_VERSION_UNFINISHED: entry(
    false,
    (p: { intent: string }) =>
      `\`heddle release version\` was interrupted, and its record is ${p.intent}. A dry run changes nothing and does not finish it.`,
    'Run `heddle release version` to finish it, then repeat the dry run.',
  ),
  HDL_RELEASE_UNFINISHED: entry(
    false,
    (p: { what: string; record: string }) =>
      `An interrupted release has left ${p.what}, recorded in ${p.record}. A dry run changes nothing and does not repair it.`,
    'Run `heddle release publish` to finish that release, then repeat the dry run.',
  ),
  HDL_COMMIT_REFUSED: entry(
    false,
    (p: { problem: string; intent: string }) =>
      `Git refused the commit of the new versions: ${end(p.problem)} The files are written, and the record is ${p.intent}.`,
    'Correct the named faults and run `heddle release version` again; `--message` gives the commit another first line. To give up, delete the record and run `git reset --hard`.',
  ),
  HDL_SCRIPT_UNFINISHED: entry(
    false,
    (p: { package: string; folder: string; note: string; problem: string }) =>
      `An interrupted release left ${p.folder} changed, and the script "postpack" of ${p.package}, which takes that back, failed: ${end(p.problem)} The record is ${p.note}.`,
    'Correct the faults that the script names and run the command again. Or restore the folder with `git restore` and `git clean`; without a repository, delete the record.',
  ),
  HDL_VERSION_EDITED: entry(
    false,
    (p: { path: string; intent: string }) =>
      `${p.path} was edited after \`heddle release version\` was interrupted, so the changes recorded in ${p.intent} cannot be finished.`,
    'Restore the file with `git checkout` and run the command again, or delete the record to keep the tree as it is.',
  ),
  HDL_HISTORY_CUT: entry(
    false,
    (p: { packages: readonly string[] }) =>
      `This is a shallow clone that ends before the last release of ${p.packages.join(', ')}: their changes cannot be counted.`,
    'Run `git fetch --unshallow --tags`; in GitHub Actions check out with `fetch-depth: 0`.',
  ),

  // Release: manifests and archives.
  HDL_LOCAL_RANGE: entry(
    false,
    (p: { package: string; group: string; dependency: string; range: string; problem: string }) =>
      `${p.package}: ${quote(p.dependency)} in ${p.group} is ${quote(p.range)}, which cannot be released: ${p.problem}.`,
    'Correct the range, or publish a version that it allows. Nothing has been uploaded.',
  ),
  HDL_BAD_MANIFEST: entry(
    false,
    (p: { file: string; problem: string }) => `${p.file} cannot be used: ${p.problem}.`,
    'Repair the manifest; it has not been changed.',
  ),
  HDL_PACK_FAILED: entry(
    false,
    (p: { package: string; problem: string }) => `${p.package} could not be packed: ${p.problem}.`,
    'Repair the package and pack it again; nothing was left behind and nothing has been uploaded.',
  ),

  // Release: registries.
  HDL_REGISTRY_UNAVAILABLE: entry(
    true,
    (p: {
      registry: string
      action: string
      problem: string
      /** Whether the registry may have done it all the same. */
      outcome: 'not-done' | 'unknown'
      tries: number
      retryAfter?: number | undefined
    }) =>
      `${p.action} at ${p.registry} failed${p.tries > 1 ? ` ${p.tries} times` : ''}: ${p.problem}.`,
    'Run the release again later. Versions that the registry has by then are not uploaded again.',
  ),
  HDL_REGISTRY_RATE: entry(
    true,
    (p: { registry: string; action: string; tries: number; retryAfter: number }) =>
      `${p.registry} limits the rate of requests: ${p.action} was refused${p.tries > 1 ? ` ${p.tries} times` : ''}. It can be tried again in ${Math.ceil(p.retryAfter / 1000)} s.`,
    'Run the release again later, with a smaller `--concurrency`.',
  ),
  HDL_REGISTRY_AUTH: entry(
    false,
    (p: { registry: string; action: string; status: number; said: string; hint: string }) =>
      `${p.registry} refused ${p.action} (status ${p.status}${p.said === '' ? '' : `: ${p.said}`}). ${p.hint}`,
    'Correct the rights or the token, then run the release again.',
  ),
  HDL_VERSION_CONFLICT: entry(
    false,
    (p: { package: string; version: string; registry: string; expected: string; found: string }) =>
      `${p.package}@${p.version} is on ${p.registry} with other content: expected ${p.expected}, found ${p.found}.`,
    'A published version never changes: release the package under a new version.',
  ),
  HDL_RELEASE_UNKNOWN: entry(
    false,
    (p: { release: string | undefined; releases: readonly string[] }) =>
      p.release === undefined
        ? `More than one release is recorded here: ${list(p.releases, (each) => each)}`
        : p.releases.length === 0
          ? `There is no release ${show(p.release)}: none is recorded here.`
          : `No single release is called ${show(p.release)}. Recorded are: ${list(p.releases, (each) => each)}`,
    'Name the release by its id, or by the beginning of it.',
  ),
  HDL_TAG_BACKWARDS: entry(
    false,
    (p: { package: string; version: string; latest: string }) =>
      `${p.package}@${p.version} would take "latest" from ${p.latest}, which is newer: users would install the older version.`,
    'Give it another dist-tag with `--dist-tag` or `publishConfig.tag`; `"tag": "latest"` in `publishConfig` moves the tag on purpose. Nothing has been uploaded.',
  ),
  HDL_PACKAGE_REFUSED: entry(
    false,
    (p: { registry: string; action: string; status: number; said: string }) =>
      `${p.registry} refused the content of ${p.action} (status ${p.status}${p.said === '' ? '' : `: ${p.said}`}).`,
    'Correct the package: the same upload would be refused again.',
  ),
  HDL_REGISTRY_UNSUPPORTED: entry(
    false,
    (p: { registry: string; feature: string; instead: string }) =>
      `${p.registry} has no ${p.feature}. ${p.instead}`,
    'Leave the option out for this registry, or do it by hand.',
  ),
  HDL_NOT_VISIBLE: entry(
    true,
    (p: {
      package: string
      version: string
      registry: string
      waited: number
      lacks?: 'version' | 'archive'
      reason?: string | undefined
    }) =>
      `${p.registry} accepted ${p.package}@${p.version} and does not show ${p.lacks === 'archive' ? 'its archive' : 'it'} after ${Math.round(p.waited / 1000)} s.${p.reason === undefined ? '' : ` The last look failed: ${p.reason}`}`,
    'Run the release again later: it resumes here and uploads nothing twice.',
  ),
  HDL_ARCHIVE_DIFFERS: entry(
    false,
    (p: { package: string; version: string; registry: string; expected: string; found: string }) =>
      `The archive of ${p.package}@${p.version} that ${p.registry} gives out is not the one that was published: expected ${p.expected}, found ${p.found}.`,
    'Installers refuse it. Ask the operator of the registry; then run the release again, or release under a new version.',
  ),
  HDL_VERSION_TAKEN: entry(
    false,
    (p: { package: string; version: string; registry: string; from: string }) =>
      `${p.registry} already has ${p.package}@${p.version} (${p.from}), without the newest changes.`,
    'Release under a higher version. If the tags of the last release are missing here, run `git fetch --tags`, or make the tag on the commit that was published. Nothing has been built.',
  ),
  HDL_TAG_TAKEN: entry(
    false,
    (p: { package: string; version: string; tag: string; commit: string; head: string }) =>
      `The Git tag ${p.tag} points to commit ${p.commit.slice(0, 12)}, but ${p.package}@${p.version} is not on the registry, and ${p.head.slice(0, 12)} would be published.`,
    'Release from the tagged commit, choose another version, or delete the tag. Nothing has been built.',
  ),
  HDL_PREFLIGHT: entry(
    false,
    (p: { problems: readonly { check: string; problem: string; todo: string }[] }) =>
      `Nothing was built or published, because a check failed: ${list(p.problems, ({ check, problem, todo }) => `${check}: ${problem}. ${todo}`)}`,
    'Correct the named faults, then run the release again.',
  ),
  HDL_RELEASE_LEASED: entry(
    true,
    (p: { remote: string; holder: string }) =>
      `Another clone is releasing: ${p.holder}. Its lease is the ref refs/heddle/release of ${p.remote}.`,
    'Wait for that release to end, then run this one again: it finishes the rest. A lease whose holder has died is taken once it was not renewed for its lifetime, 90 s by default.',
  ),
  HDL_LEASE_LOST: entry(
    false,
    (p: { remote: string }) =>
      `The lease on ${p.remote} was lost: another clone has taken it, or it could not be renewed in time.`,
    'Run the release again: it reads the registry and finishes the rest.',
  ),
  HDL_NOT_INSTALLABLE: entry(
    false,
    (p: { package: string; version: string; registry: string; problem: string }) =>
      `${p.package}@${p.version} from ${p.registry} cannot be used after installation: ${p.problem}.`,
    'It is published. Repair it and publish a new version. Packages that only browsers can import belong in `smoke.installOnly` of heddle.release.json.',
  ),
  HDL_ARTIFACT_CHANGED: entry(
    false,
    (p: { file: string; expected: string; found: string }) =>
      `${p.file} differs from the packed file: expected ${p.expected}, found ${p.found}.`,
    'Do not change the packed files during a release. Run the release again: it packs them again.',
  ),
} as const

/** Every code, for `switch` and for matching `error.code`. */
export type ErrorCode = keyof typeof errorTable

/** The values that an error of this code carries in `details`. */
export type ErrorDetails<C extends ErrorCode> = Parameters<(typeof errorTable)[C]['message']>[0]

const brand: unique symbol = Symbol.for('heddle.error') as never

/**
 * The one class of errors Heddle makes. Match on `code`.
 *
 * `instanceof` works across several copies of the package in one program.
 */
export class HeddleError<C extends ErrorCode = ErrorCode> extends Error {
  override readonly name: string = 'HeddleError'
  readonly code: C
  readonly details: ErrorDetails<C>
  /** What to do about it. */
  readonly help: string
  /** Whether doing the same again later can succeed. */
  readonly retryable: boolean
  /** Milliseconds after which to try again, where that is known. */
  readonly retryAfter: number | undefined
  /** All errors behind this one, where there are several. */
  readonly errors: readonly unknown[] | undefined

  constructor(
    code: C,
    details: ErrorDetails<C>,
    options: ErrorOptions & { errors?: readonly unknown[] } = {},
  ) {
    const { message, help, retryable } = errorTable[code] as unknown as ErrorEntry<ErrorDetails<C>>
    super(message(details), options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = details
    this.help = help
    this.retryable = (details as { retryable?: boolean } | undefined)?.retryable ?? retryable
    this.retryAfter = (details as { retryAfter?: number } | undefined)?.retryAfter
    this.errors = options.errors
  }

  get [brand](): true {
    return true
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (typeof value !== 'object' || value === null) return false
    try {
      return brand in value
    } catch {
      // A revoked proxy: anything can be thrown.
      return false
    }
  }
}

/** Whether `error` is a Heddle error with this code. */
export function isError<C extends ErrorCode>(error: unknown, code: C): error is HeddleError<C> {
  return error instanceof HeddleError && error.code === code
}

/**
 * An error that says what cancelled the work, and why. An HDL_CANCELLED error passes unchanged;
 * the reason of `AbortSignal.timeout()` is distinguished from that of a person.
 */
export function cancelled(
  what: string,
  cause: unknown,
  source: CancelSource = isTimeout(cause) ? 'deadline' : 'user',
): HeddleError<'HDL_CANCELLED'> {
  if (isError(cause, 'HDL_CANCELLED')) return cause
  const details = { what, source, reason: describe(cause) }
  if (!(cause instanceof Error)) return new HeddleError('HDL_CANCELLED', details, { cause })
  // The cause has the stack of the cancelling caller. A second stack costs 6 µs, and one signal may end
  // 100,000 waits at once: 0.12 s without it, 0.74 s with it.
  return withoutStack(() => new HeddleError('HDL_CANCELLED', details, { cause }))
}

/** Why something was ended, as an error. One of ours says more than a wrapper would. */
export function reasonError(what: string, reason: unknown): HeddleError {
  return reason instanceof HeddleError ? reason : cancelled(what, reason)
}

/** Reads a field of an error of foreign code, which may be a getter that throws. */
export function readField(from: object, key: string): unknown {
  try {
    return (from as Record<string, unknown>)[key]
  } catch {
    return undefined
  }
}

/**
 * Makes an error that says all there is to say without its stack: one that is made in a timer, or
 * for each of many at once.
 */
export function withoutStack<E extends Error>(make: () => E): E {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    return make()
  } finally {
    Error.stackTraceLimit = limit
  }
}

function isTimeout(cause: unknown): boolean {
  return isError(cause, 'HDL_TIMEOUT') || (cause instanceof Error && cause.name === 'TimeoutError')
}

/** The message of whatever was thrown, in one line unless the message has more. */
export function describe(thrown: unknown): string {
  try {
    const said: unknown =
      thrown instanceof Error ? thrown.message || describeAll(thrown) || thrown.name : thrown
    return typeof said === 'string' ? said : inspectBriefly(said)
  } catch {
    // A getter or a proxy that throws.
    return `[${typeof thrown}]`
  }
}

/** Errors that stand for several: their own message is often empty, as when no address of a host answers. */
function describeAll(error: Error): string | undefined {
  const errors = (error as { errors?: unknown }).errors
  if (!Array.isArray(errors) || errors.length === 0) return undefined
  const first = errors.slice(0, mostDescribed).map((each) => withoutStop(describeInside(each)))
  const more = errors.length - first.length
  return `${first.join('; ')}${more > 0 ? `; and ${more} more` : ''}`
}

const mostDescribed = 4

/** One of the inner errors, without its own inner errors, which may form a circle. */
function describeInside(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message || thrown.name : describe(thrown)
}

const longestInspected = 1_000

function inspectBriefly(value: unknown): string {
  const text = inspect(value, {
    depth: 2,
    breakLength: Infinity,
    maxArrayLength: 20,
    maxStringLength: 200,
  })
  return text.length > longestInspected ? `${text.slice(0, longestInspected)}…` : text
}

/** A sentence as a part of another one. */
function withoutStop(sentence: string): string {
  return sentence.endsWith('.') ? sentence.slice(0, -1) : sentence
}

const mostKeys = 5

/** The kind of a wrong value. Without its content: an object of options may hold secrets. */
function kindOf(value: object): string {
  if (Array.isArray(value))
    return value.length === 0 ? 'an empty list' : `a list of ${value.length}`
  const type: unknown = Object.getPrototypeOf(value)?.constructor?.name
  if (type === 'Reference') return 'a reference'
  if (typeof type === 'string' && type !== 'Object' && type !== '') {
    return `${/^[aeiou]/i.test(type) ? 'an' : 'a'} ${type}`
  }
  const { run, place } = value as { run?: unknown; place?: unknown }
  if (typeof run === 'function' && typeof place === 'string') return 'a job'
  const keys = Object.keys(value)
  if (keys.length === 0) return 'an empty object'
  const more = keys.length > mostKeys ? ' …' : ''
  return `an object with ${keys.slice(0, mostKeys).join(', ')}${more}`
}
