/** The blocking rules: which kinds of model entries belong to each, and how it is repaired. */
import type { BlockingKind } from '../models/model.ts'

export interface RepairTemplate {
  readonly title: string
  readonly sketch: string
  readonly tradeoffs: string
  readonly risk: 'low' | 'medium' | 'high'
  readonly effort: 'simple' | 'moderate' | 'complex'
}

export interface BlockingRule {
  readonly id: string
  readonly name: string
  readonly kinds: readonly BlockingKind[]
  /** Ends the sentence "the event loop waits for …". */
  readonly waitsFor: string
  readonly repairs: readonly RepairTemplate[]
}

const threadJob: RepairTemplate = {
  title: 'Move it to a thread',
  sketch:
    "const work = job({ name: 'work', place: 'thread', module: import.meta.url }, (input) => …)",
  tradeoffs: 'The input and the result are copied; a call costs about 50 µs more.',
  risk: 'low',
  effort: 'moderate',
}

const atStart: RepairTemplate = {
  title: 'Do it once, when the module is loaded',
  sketch: 'const value = load() // at the top of the module, used by every call',
  tradeoffs: 'The program starts later, and later changes are not seen.',
  risk: 'low',
  effort: 'simple',
}

const limitInput: RepairTemplate = {
  title: 'Refuse input that is too large, before it is used',
  sketch: 'if (input.length > maxLength) throw new RangeError(`at most ${maxLength}`)',
  tradeoffs: 'Somebody with a good reason is refused; say the limit in the answer.',
  risk: 'low',
  effort: 'simple',
}

const stream: RepairTemplate = {
  title: 'Work on it in pieces',
  sketch: 'for await (const chunk of input) handle(chunk)',
  tradeoffs: 'Errors are seen in the middle, when some of it has already been used.',
  risk: 'medium',
  effort: 'moderate',
}

const asyncTwin: RepairTemplate = {
  title: 'Use the asynchronous function',
  sketch: '', // the model's alternative
  tradeoffs:
    'The function becomes async, and so do its callers: look for state that is checked before the await and used after it.',
  risk: 'medium',
  effort: 'simple',
}

export const blockingRules: readonly BlockingRule[] = [
  {
    id: 'B101',
    name: 'sync-io',
    kinds: ['sync-io'],
    waitsFor: 'the disk',
    repairs: [asyncTwin, atStart],
  },
  {
    id: 'B102',
    name: 'sync-process',
    kinds: ['sync-process'],
    waitsFor: 'another process to end',
    repairs: [asyncTwin, atStart],
  },
  {
    id: 'B103',
    name: 'sync-crypto-or-compression',
    kinds: ['sync-crypto', 'js-crypto', 'sync-compression'],
    waitsFor: 'the computation',
    repairs: [asyncTwin, threadJob],
  },
  {
    id: 'B104',
    name: 'unbounded-parse',
    kinds: ['parse', 'serialise'],
    waitsFor: 'the whole input to be read or written',
    repairs: [limitInput, threadJob, stream],
  },
  {
    id: 'B105',
    name: 'slow-regexp',
    kinds: [],
    waitsFor: 'the regular expression to try every way',
    repairs: [
      {
        title: 'Leave the pattern only one way to match',
        sketch: '/^[a-z]+_[0-9]+$/ // neighbouring parts share no character',
        tradeoffs: 'It may accept less than before: try it on the inputs you have.',
        risk: 'medium',
        effort: 'moderate',
      },
      limitInput,
    ],
  },
  {
    id: 'B106',
    name: 'request-sized-work',
    kinds: ['hash', 'sort', 'concat', 'spread', 'template-compile', 'render', 'media'],
    waitsFor: 'the computation',
    repairs: [threadJob, limitInput],
  },
  {
    id: 'B107',
    name: 'blocking-wait',
    kinds: ['blocking-wait'],
    waitsFor: 'code that may need the loop to act',
    repairs: [asyncTwin, threadJob],
  },
  {
    id: 'B108',
    name: 'busy-loop',
    kinds: [],
    waitsFor: 'a condition that nothing on the loop can change',
    repairs: [
      {
        title: 'Wait between the attempts',
        sketch: 'await setTimeout(delay, undefined, { signal }) // node:timers/promises',
        tradeoffs: 'The function becomes async.',
        risk: 'low',
        effort: 'simple',
      },
      {
        title: 'Limit the attempts',
        sketch: 'for (let attempt = 0; attempt < 5; attempt++) …',
        tradeoffs: 'It can now fail; its callers must be able to handle that.',
        risk: 'low',
        effort: 'simple',
      },
    ],
  },
  {
    id: 'B109',
    name: 'code-loading',
    kinds: ['code-load'],
    waitsFor: 'code to be found, read, compiled and run',
    repairs: [
      {
        title: 'Load it with the module',
        sketch: "import { thing } from './thing.ts' // at the top",
        tradeoffs: 'The program starts later; circles of imports come to light.',
        risk: 'low',
        effort: 'simple',
      },
      atStart,
    ],
  },
  {
    id: 'B110',
    name: 'sync-database',
    kinds: ['sync-database'],
    waitsFor: 'the database',
    repairs: [
      threadJob,
      {
        title: 'Make the statement small',
        sketch: 'SELECT … WHERE key = ? LIMIT 100 -- on an index, with a busy timeout of 0',
        tradeoffs: 'A checkpoint or another writer can still hold it up.',
        risk: 'medium',
        effort: 'moderate',
      },
    ],
  },
  {
    id: 'B111',
    name: 'sync-console',
    kinds: ['console'],
    waitsFor: 'the terminal, the file or the pipe behind the console',
    repairs: [
      {
        title: 'Use a logger that writes asynchronously',
        sketch: "log.info({ id }, 'done') // pino with a transport",
        tradeoffs: 'Lines that were not written yet are lost in a crash.',
        risk: 'low',
        effort: 'moderate',
      },
      {
        title: 'Leave it out of the request path',
        sketch: 'count it, and log once a minute',
        tradeoffs: 'Single requests can no longer be followed in the log.',
        risk: 'low',
        effort: 'simple',
      },
    ],
  },
]

const byKind = new Map(blockingRules.flatMap((rule) => rule.kinds.map((kind) => [kind, rule])))
const byId = new Map(blockingRules.map((rule) => [rule.id, rule]))

export function ruleOfKind(kind: BlockingKind): BlockingRule {
  return byKind.get(kind) as BlockingRule
}

export function ruleOfId(id: 'B105' | 'B108'): BlockingRule {
  return byId.get(id) as BlockingRule
}
