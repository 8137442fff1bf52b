/**
 * Mechanisms of races, written once and spelled in every shape that programs have.
 *
 * A mechanism is a small component: state and functions that use it. `$name` is a piece of its state,
 * `@name(…)` a call of another function of it, and a line `await x = f(…)` is a suspension. The same
 * mechanism becomes a class, a closure, variables of a module, an argument object, and so on,
 * and its suspensions become `await`, `.then` or a callback, with a name or without. What finds one of them by its meaning finds
 * all of them.
 */
import type { FindingClass } from '../../src/index.ts'

export interface Method {
  readonly name: string
  readonly params?: readonly string[]
  readonly body: readonly string[]
}

export interface Mechanism {
  readonly name: string
  /** Homes in which it is not a race: code that runs once has only itself to meet. */
  readonly notIn?: readonly Home[]
  readonly notAs?: readonly Style[]
  /** Any of these is right. */
  readonly classes: readonly FindingClass[]
  /** The state with its first value. */
  readonly state: Readonly<Record<string, string>>
  readonly methods: readonly Method[]
  /** The methods that are different in the repaired twin, and those it has in addition. */
  readonly repaired: readonly Method[]
  /** State that the repaired twin has in addition. */
  readonly repairedState?: Readonly<Record<string, string>>
}

export const homes = [
  'field',
  'private field',
  'prototype',
  'factory',
  'module',
  'object',
  'parameter',
  'one function',
] as const
export type Home = (typeof homes)[number]

export const styles = ['await', 'then', 'callback', 'named callback'] as const
export type Style = (typeof styles)[number]

/** Functions take a callback as their last argument. */
function isCallbackStyle(style: Style): boolean {
  return style === 'callback' || style === 'named callback'
}

/** Whether a mechanism can be written in a style. */
export function isWrittenAs({ notAs = [] }: Mechanism, style: Style): boolean {
  return !notAs.includes(style === 'named callback' ? 'callback' : style)
}

interface Spelling {
  readonly home: Home
  readonly style: Style
}

/** The program, or undefined when a home or style cannot spell it. */
export function spell(mechanism: Mechanism, isRepaired: boolean, spelling: Spelling): string {
  const methods = new Map(mechanism.methods.map((one) => [one.name, one]))
  const state = { ...mechanism.state }
  if (isRepaired) {
    for (const one of mechanism.repaired) methods.set(one.name, one)
    Object.assign(state, mechanism.repairedState)
  }
  return `import * as far from 'far'\n${spellers[spelling.home](state, [...methods.values()], spelling.style)}`
}

type State = Readonly<Record<string, string>>
type Speller = (state: State, methods: readonly Method[], style: Style) => string

const spellers: Record<Home, Speller> = {
  field: (state, methods, style) => classOf(state, methods, style, ''),
  'private field': (state, methods, style) => classOf(state, methods, style, '#'),
  prototype(state, methods, style) {
    const lines = Object.entries(state).map(([name, value]) => `  this.${name} = ${value}`)
    return [
      'export function Component() {',
      ...lines,
      '}',
      ...methods.flatMap((method) => [
        `Component.prototype.${method.name} = ${asyncOf(method, style)}function (${paramsOf(method, style)}) {`,
        '  const self = this',
        ...bodyOf(method, style, {
          state: (name) => `self.${name}`,
          call: (name) => `self.${name}(`,
        }),
        '}',
      ]),
    ].join('\n')
  },
  factory(state, methods, style) {
    return [
      'export function makeComponent() {',
      ...variablesOf(state),
      ...methods.flatMap((method) => functionOf(method, style, '')),
      `  return { ${methods.map(({ name }) => name).join(', ')} }`,
      '}',
    ].join('\n')
  },
  module(state, methods, style) {
    return [
      ...variablesOf(state),
      ...methods.flatMap((method) => functionOf(method, style, 'export ')),
    ].join('\n')
  },
  object(state, methods, style) {
    const fields = Object.entries(state).map(([name, value]) => `${name}: ${value}`)
    return [
      `const shared = { ${fields.join(', ')} }`,
      ...methods.flatMap((method) => [
        `export ${asyncOf(method, style)}function ${method.name}(${paramsOf(method, style)}) {`,
        ...bodyOf(method, style, {
          state: (name) => `shared.${name}`,
          call: (name) => `${name}(`,
        }),
        '}',
      ]),
    ].join('\n')
  },
  parameter(_state, methods, style) {
    return methods
      .flatMap((method) => [
        `export ${asyncOf(method, style)}function ${method.name}(${['owner', paramsOf(method, style)].filter(Boolean).join(', ')}) {`,
        // Functions that are handed the same object use more of it than the state in question.
        '  far.note(owner.id, owner.label)',
        ...bodyOf(method, style, {
          state: (name) => `owner.${name}`,
          call: (name) => `${name}(owner, `,
        }),
        '}',
      ])
      .join('\n')
  },
  'one function'(state, methods, style) {
    const [first, ...others] = methods
    const inner = bodyOf(first!, style, plain)
    return [
      `export function run(${paramsOf(first!, style)}) {`,
      ...variablesOf(state),
      ...(style === 'await'
        ? ['  void (async () => {', ...inner, '  })()']
        : inner.map(unreturned)),
      ...others.flatMap((method) => functionOf(method, style, '')),
      `  return { ${others.map(({ name }) => name).join(', ')} }`,
      '}',
    ].join('\n')
  },
}

/** The first function does not return before the others are handed out. */
function unreturned(line: string): string {
  return line.replace(/^ {2}return (far\.)/, '  $1')
}

interface Names {
  readonly state: (name: string) => string
  readonly call: (name: string) => string
}

const plain: Names = { state: (name) => name, call: (name) => `${name}(` }

function variablesOf(state: State): string[] {
  return Object.entries(state).map(([name, value]) => `  let ${name} = ${value}`)
}

function functionOf(method: Method, style: Style, prefix: string): string[] {
  return [
    `${prefix}${asyncOf(method, style)}function ${method.name}(${paramsOf(method, style)}) {`,
    ...bodyOf(method, style, plain),
    '}',
  ]
}

function classOf(state: State, methods: readonly Method[], style: Style, mark: string): string {
  return [
    'export class Component {',
    ...Object.entries(state).map(([name, value]) => `  ${mark}${name} = ${value}`),
    ...methods.flatMap((method) => [
      `  ${asyncOf(method, style)}${method.name}(${paramsOf(method, style)}) {`,
      ...bodyOf(method, style, {
        state: (name) => `this.${mark}${name}`,
        call: (name) => `this.${name}(`,
      }),
      '  }',
    ]),
    '}',
  ].join('\n')
}

const suspension = /^await (?:(\w+) = )?(.+)\((.*)\)$/

function suspends({ body }: Method): boolean {
  return body.some((line) => suspension.test(line))
}

function asyncOf(method: Method, style: Style): string {
  return style === 'await' && suspends(method) ? 'async ' : ''
}

function paramsOf(method: Method, style: Style): string {
  const params = [...(method.params ?? [])]
  if (isCallbackStyle(style) && suspends(method)) params.push('callback')
  return params.join(', ')
}

function bodyOf(method: Method, style: Style, names: Names): string[] {
  const lines = method.body.map((line) =>
    line
      .replaceAll(/\$(\w+)/g, (_, name: string) => names.state(name))
      .replaceAll(/@(\w+)\(/g, (_, name: string) => names.call(name))
      .replaceAll(', )', ')'),
  )
  return continued(lines, style, '  ')
}

function continued(lines: readonly string[], style: Style, indent: string): string[] {
  const at = lines.findIndex((line) => suspension.test(line))
  if (at === -1) {
    const all = lines.map((line) => indent + line)
    return isCallbackStyle(style) && indent.length > 2 ? [...all, `${indent}callback(null)`] : all
  }
  const before = lines.slice(0, at).map((line) => indent + line)
  const [, name = '', callee = '', args = ''] = suspension.exec(lines[at]!)!
  const after = lines.slice(at + 1)
  if (style === 'await')
    return [
      ...before,
      `${indent}${name === '' ? '' : `const ${name} = `}await ${callee}(${args})`,
      ...continued(after, style, indent),
    ]
  const rest = continued(after, style, `${indent}  `)
  if (style === 'then')
    return [
      ...before,
      `${indent}return ${callee}(${args}).then((${name}) => {`,
      ...rest,
      `${indent}})`,
    ]
  const given = args === '' ? '' : `${args}, `
  const head = `(error${name === '' ? '' : `, ${name}`}) => {`
  const inside = [`${indent}  if (error) return callback(error)`, ...rest]
  if (style === 'callback')
    return [...before, `${indent}${callee}(${given}${head}`, ...inside, `${indent}})`]
  const next = `next${indent.length / 2}`
  return [
    ...before,
    `${indent}const ${next} = ${head}`,
    ...inside,
    `${indent}}`,
    `${indent}${callee}(${given}${next})`,
  ]
}

const close: Method = {
  name: 'close',
  body: ['$closed = true', 'if ($socket) $socket.end()', '$socket = null'],
}

export const mechanisms: readonly Mechanism[] = [
  {
    name: 'opened twice',
    notIn: ['one function'],
    classes: ['toctou', 'missing-guard'],
    state: { socket: 'null' },
    methods: [
      {
        name: 'open',
        params: ['port'],
        body: ['if ($socket) return', 'await made = far.dial(port)', '$socket = made'],
      },
      { name: 'close', body: ['if ($socket) $socket.end()', '$socket = null'] },
    ],
    repaired: [
      {
        name: 'open',
        params: ['port'],
        body: [
          'if ($socket || $busy) return',
          '$busy = true',
          'await made = far.dial(port)',
          '$busy = false',
          'if ($ended) return',
          '$socket = made',
        ],
      },
      {
        name: 'close',
        body: ['$ended = true', 'if ($socket) $socket.end()', '$socket = null'],
      },
    ],
    repairedState: { busy: 'false', ended: 'false' },
  },
  {
    name: 'second caller passes by',
    // One function alone does not show that others have the object too.
    notIn: ['one function', 'parameter'],
    notAs: ['then', 'callback'],
    classes: ['stale-reference'],
    state: { begun: 'false' },
    methods: [
      {
        name: 'answer',
        params: ['request'],
        body: [
          'if (!$begun) {',
          '$begun = true',
          'await far.prepare()',
          '}',
          'return far.render(request)',
        ],
      },
    ],
    repaired: [
      {
        name: 'answer',
        params: ['request'],
        body: [
          'if (!$pages) $pages = far.prepare()',
          'await far.ready($pages)',
          'return far.render(request)',
        ],
      },
    ],
    repairedState: { pages: 'null' },
  },
  {
    name: 'closed while opening',
    classes: ['stale-reference', 'lifetime-mismatch', 'toctou', 'missing-guard'],
    state: { closed: 'false', socket: 'null' },
    methods: [
      {
        name: 'open',
        params: ['port'],
        body: ['if ($closed) return', 'await made = far.dial(port)', '$socket = made'],
      },
      close,
    ],
    repaired: [
      {
        name: 'open',
        params: ['port'],
        body: [
          'if ($closed || $socket) return',
          'await made = far.dial(port)',
          'if ($closed || $socket) return void made.end()',
          '$socket = made',
        ],
      },
    ],
  },
  {
    name: 'timer started after stop',
    classes: ['lifetime-mismatch', 'stale-reference'],
    state: { timer: 'null', stopped: 'false' },
    methods: [
      {
        name: 'poll',
        body: ['await far.work()', '$timer = setTimeout(() => @poll(), 100)'],
      },
      { name: 'stop', body: ['$stopped = true', 'clearTimeout($timer)'] },
    ],
    repaired: [
      {
        name: 'poll',
        body: [
          'await far.work()',
          'if ($stopped) return',
          '$timer = setTimeout(() => @poll(), 100)',
        ],
      },
    ],
  },
  {
    name: 'subscribed after unsubscribe',
    // Elsewhere the caller that starts may be trusted not to stop before it has started.
    notIn: ['field', 'private field', 'prototype', 'factory', 'module', 'object', 'parameter'],
    classes: ['lifetime-mismatch', 'stale-reference'],
    state: { subscription: 'null' },
    methods: [
      {
        name: 'start',
        params: ['source'],
        body: ['await options = far.prepare()', '$subscription = source.subscribe(options)'],
      },
      { name: 'stop', body: ['if ($subscription) $subscription.unsubscribe()'] },
    ],
    repaired: [
      {
        name: 'start',
        params: ['source'],
        body: [
          'await options = far.prepare()',
          'if ($stopped) return',
          '$subscription = source.subscribe(options)',
        ],
      },
      {
        name: 'stop',
        body: ['$stopped = true', 'if ($subscription) $subscription.unsubscribe()'],
      },
    ],
    repairedState: { stopped: 'false' },
  },
  {
    name: 'subscribed after it was marked as stopped',
    classes: ['lifetime-mismatch', 'stale-reference'],
    state: { subscription: 'null', stopped: 'false' },
    methods: [
      {
        name: 'start',
        params: ['source'],
        body: ['await options = far.prepare()', '$subscription = source.subscribe(options)'],
      },
      {
        name: 'stop',
        body: ['$stopped = true', 'if ($subscription) $subscription.unsubscribe()'],
      },
      { name: 'send', body: ['if ($stopped) throw new Error("stopped")', 'far.send()'] },
    ],
    repaired: [
      {
        name: 'start',
        params: ['source'],
        body: [
          'await options = far.prepare()',
          'if ($stopped) return',
          '$subscription = source.subscribe(options)',
        ],
      },
    ],
  },
  {
    name: 'stored after it was forgotten',
    notIn: ['one function'],
    classes: ['stale-reference'],
    state: { keys: 'null' },
    methods: [
      {
        name: 'get',
        body: [
          'if ($keys) return $keys',
          'await found = far.load()',
          '$keys = found',
          'return found',
        ],
      },
      { name: 'forget', body: ['$keys = null'] },
    ],
    repaired: [
      {
        name: 'get',
        body: [
          'if ($keys) return $keys',
          'const before = $round',
          'await found = far.load()',
          'if ($round !== before) return found',
          '$keys = found',
          'return found',
        ],
      },
      { name: 'forget', body: ['$keys = null', '$round += 1'] },
    ],
    repairedState: { round: '0' },
  },
  {
    name: 'end of the old one hits the new one',
    notIn: ['one function'],
    classes: ['stale-reference'],
    state: { socket: 'null', connected: 'false' },
    methods: [
      {
        name: 'open',
        params: ['port'],
        body: [
          'const made = far.dial(port)',
          '$socket = made',
          '$connected = true',
          'made.on("close", () => { $connected = false })',
        ],
      },
      {
        name: 'reopen',
        params: ['port'],
        body: ['if ($socket) $socket.destroy()', '@open(port)'],
      },
    ],
    repaired: [
      {
        name: 'open',
        params: ['port'],
        body: [
          'const made = far.dial(port)',
          '$socket = made',
          '$connected = true',
          'made.on("close", () => { if ($socket === made) $connected = false })',
        ],
      },
    ],
  },
  {
    name: 'older answer over newer',
    notIn: ['one function'],
    classes: ['stale-reference', 'atomicity-gap'],
    state: { query: 'null', rows: 'null' },
    methods: [
      {
        name: 'search',
        params: ['text'],
        body: ['$query = text', 'await found = far.search(text)', '$rows = found'],
      },
      { name: 'current', body: ['return { query: $query, rows: $rows }'] },
    ],
    repaired: [
      {
        name: 'search',
        params: ['text'],
        body: [
          '$query = text',
          'await found = far.search(text)',
          'if ($query !== text) return',
          '$rows = found',
        ],
      },
    ],
  },
  {
    name: 'used after it was taken away',
    classes: ['stale-reference'],
    state: { socket: 'null' },
    methods: [
      {
        name: 'send',
        params: ['text'],
        body: ['if (!$socket) return', 'await packed = far.pack(text)', '$socket.write(packed)'],
      },
      { name: 'close', body: ['$socket.end()', '$socket = null'] },
      { name: 'open', body: ['if (!$socket) $socket = far.open()'] },
    ],
    repaired: [
      {
        name: 'send',
        params: ['text'],
        body: ['await packed = far.pack(text)', 'if (!$socket) return', '$socket.write(packed)'],
      },
    ],
  },
  {
    name: 'alias used after close',
    classes: ['stale-reference'],
    state: { socket: 'null' },
    methods: [
      {
        name: 'send',
        params: ['text'],
        body: [
          'const held = $socket',
          'if (!held) return',
          'await packed = far.pack(text)',
          'held.write(packed)',
        ],
      },
      { name: 'close', body: ['if ($socket) $socket.end()', '$socket = null'] },
      { name: 'open', body: ['if (!$socket) $socket = far.open()'] },
    ],
    repaired: [
      {
        name: 'send',
        params: ['text'],
        body: [
          'await packed = far.pack(text)',
          'const held = $socket',
          'if (!held) return',
          'held.write(packed)',
        ],
      },
    ],
  },
  {
    name: 'lost update of a number',
    notIn: ['one function'],
    classes: ['atomicity-gap'],
    state: { total: '0' },
    methods: [
      {
        name: 'add',
        params: ['item'],
        body: ['const before = $total', 'await price = far.price(item)', '$total = before + price'],
      },
      { name: 'sum', body: ['return $total'] },
    ],
    repaired: [
      {
        name: 'add',
        params: ['item'],
        body: ['await price = far.price(item)', '$total = $total + price'],
      },
    ],
  },
  {
    name: 'lost update of a list',
    notIn: ['one function'],
    classes: ['atomicity-gap'],
    state: { items: '[]' },
    methods: [
      {
        name: 'add',
        params: ['id'],
        body: ['const before = $items', 'await item = far.load(id)', '$items = [...before, item]'],
      },
      { name: 'all', body: ['return $items'] },
    ],
    repaired: [
      {
        name: 'add',
        params: ['id'],
        body: ['await item = far.load(id)', '$items = [...$items, item]'],
      },
    ],
  },
  {
    name: 'emptied after sending',
    notIn: ['one function'],
    classes: ['atomicity-gap'],
    state: { queue: '[]' },
    methods: [
      {
        name: 'flush',
        body: ['if ($queue.length === 0) return', 'await far.send($queue)', '$queue = []'],
      },
      { name: 'add', params: ['item'], body: ['$queue.push(item)'] },
    ],
    repaired: [
      {
        name: 'flush',
        body: [
          'if ($queue.length === 0) return',
          'const batch = $queue',
          '$queue = []',
          'await far.send(batch)',
        ],
      },
    ],
  },
  {
    name: 'closing is not marked before it waits',
    notIn: ['one function'],
    classes: ['atomicity-gap', 'missing-guard', 'lifetime-mismatch', 'toctou'],
    state: { closed: 'false', jobs: '[]', socket: 'far.open()' },
    methods: [
      {
        name: 'close',
        body: ['await far.finish($jobs)', '$closed = true', '$socket.end()'],
      },
      {
        name: 'add',
        params: ['job'],
        body: ['if ($closed) throw new Error("closed")', '$jobs.push(job)'],
      },
    ],
    repaired: [
      {
        name: 'close',
        body: ['$closed = true', 'await far.finish($jobs)', '$socket.end()'],
      },
    ],
  },
  {
    name: 'waiters are left at close',
    notIn: ['one function'],
    classes: ['lifetime-mismatch', 'missing-guard', 'atomicity-gap', 'stale-reference'],
    state: { socket: 'far.open()', waiting: '[]', closed: 'false' },
    methods: [
      {
        name: 'close',
        body: ['$closed = true', '$socket.end()'],
      },
      {
        name: 'take',
        body: ['return new Promise((resolve, reject) => { $waiting.push({ resolve, reject }) })'],
      },
      {
        name: 'give',
        params: ['item'],
        body: ['const next = $waiting.shift()', 'if (next) next.resolve(item)'],
      },
    ],
    repaired: [
      {
        name: 'close',
        body: [
          '$closed = true',
          '$socket.end()',
          'for (const one of $waiting) one.reject(new Error("closed"))',
        ],
      },
    ],
  },
  {
    name: 'second close does not wait for the first',
    notIn: ['one function'],
    classes: ['stale-reference', 'lifetime-mismatch'],
    state: { closing: 'false', socket: 'far.open()' },
    methods: [
      {
        name: 'close',
        body: [
          'if ($closing) return',
          '$closing = true',
          'await far.flush()',
          'await far.remove()',
          '$socket.end()',
        ],
      },
      { name: 'restart', body: ['await @close()', '$socket = far.open()'] },
    ],
    repaired: [
      {
        name: 'close',
        body: ['if (!$closing) $closing = @finish()', 'return $closing'],
      },
      { name: 'finish', body: ['await far.flush()', 'await far.remove()', '$socket.end()'] },
    ],
  },
  {
    name: 'handed out before it is ready',
    notIn: ['one function'],
    classes: ['stale-reference', 'atomicity-gap', 'toctou'],
    state: { client: 'null' },
    methods: [
      {
        name: 'get',
        body: [
          'if ($client) return $client',
          '$client = new far.Client()',
          'await $client.connect()',
          'return $client',
        ],
      },
      { name: 'close', body: ['if ($client) $client.end()', '$client = null'] },
    ],
    repaired: [
      {
        name: 'get',
        body: ['if (!$opening) $opening = @open()', 'return $opening'],
      },
      {
        name: 'open',
        body: [
          'const made = new far.Client()',
          'await made.connect()',
          'if ($ended) return made',
          '$client = made',
          'return made',
        ],
      },
      {
        name: 'close',
        body: ['$ended = true', 'if ($client) $client.end()', '$client = null'],
      },
    ],
    repairedState: { opening: 'null', ended: 'false' },
  },
  {
    name: 'owner is cleared by an older job',
    notIn: ['one function'],
    classes: ['stale-reference', 'atomicity-gap'],
    state: { running: 'null' },
    methods: [
      {
        name: 'run',
        params: ['job'],
        body: ['$running = job', 'await far.work(job)', '$running = null'],
      },
      { name: 'cancel', body: ['if ($running) $running.abort()'] },
    ],
    repaired: [
      {
        name: 'run',
        params: ['job'],
        body: ['$running = job', 'await far.work(job)', 'if ($running === job) $running = null'],
      },
    ],
  },
  {
    name: 'limit is passed',
    notIn: ['one function'],
    classes: ['toctou'],
    state: { active: '0' },
    methods: [
      {
        name: 'enter',
        params: ['job'],
        body: [
          'if ($active >= 3) throw new Error("full")',
          'await far.prepare(job)',
          '$active = $active + 1',
        ],
      },
      { name: 'leave', body: ['$active = $active - 1'] },
    ],
    repaired: [
      {
        name: 'enter',
        params: ['job'],
        body: [
          'if ($active >= 3) throw new Error("full")',
          '$active = $active + 1',
          'await far.prepare(job)',
        ],
      },
    ],
  },
  {
    name: 'reconnects after close',
    notIn: ['one function'],
    classes: ['lifetime-mismatch', 'stale-reference'],
    state: { socket: 'null' },
    methods: [
      {
        name: 'open',
        params: ['port'],
        body: [
          '$socket = far.dial(port)',
          '$socket.on("close", () => { setTimeout(() => @open(port), 1000) })',
        ],
      },
      { name: 'stop', body: ['if ($socket) $socket.destroy()'] },
    ],
    repaired: [
      {
        name: 'open',
        params: ['port'],
        body: [
          '$socket = far.dial(port)',
          '$socket.on("close", () => { if (!$stopped) setTimeout(() => @open(port), 1000) })',
        ],
      },
      { name: 'stop', body: ['$stopped = true', 'if ($socket) $socket.destroy()'] },
    ],
    repairedState: { stopped: 'false' },
  },
  {
    name: 'timer acts on what was closed',
    classes: ['stale-reference', 'lifetime-mismatch'],
    state: { socket: 'null' },
    methods: [
      {
        name: 'ping',
        body: ['setTimeout(() => { $socket.write("ping") }, 1000)'],
      },
      { name: 'open', body: ['if (!$socket) $socket = far.open()'] },
      { name: 'close', body: ['if ($socket) $socket.end()', '$socket = null'] },
    ],
    repaired: [
      {
        name: 'ping',
        body: ['setTimeout(() => { if ($socket) $socket.write("ping") }, 1000)'],
      },
    ],
  },
  {
    name: 'given up, and connected all the same',
    classes: ['lifetime-mismatch', 'stale-reference', 'missing-guard'],
    state: { open: '0' },
    methods: [
      {
        name: 'connect',
        params: ['port', 'done'],
        body: [
          'const timer = setTimeout(() => done(new Error("late")), 1000)',
          'await made = far.dial(port)',
          'clearTimeout(timer)',
          'done(null, made)',
        ],
      },
      { name: 'count', body: ['return $open'] },
    ],
    repaired: [
      {
        name: 'connect',
        params: ['port', 'done'],
        body: [
          'let isLate = false',
          'const timer = setTimeout(() => { isLate = true; done(new Error("late")) }, 1000)',
          'await made = far.dial(port)',
          'clearTimeout(timer)',
          'if (isLate) return void made.end()',
          'done(null, made)',
        ],
      },
    ],
  },
  {
    name: 'loser of a race leaks',
    // Callbacks have no race.
    notAs: ['callback'],
    notIn: ['one function'],
    classes: ['lifetime-mismatch'],
    state: { socket: 'null' },
    methods: [
      {
        name: 'open',
        params: ['port'],
        body: ['await made = Promise.race([far.dial(port), far.timeout(1000)])', '$socket = made'],
      },
      { name: 'close', body: ['if ($socket) $socket.end()'] },
    ],
    repaired: [
      {
        name: 'open',
        params: ['port'],
        body: [
          'const dialing = far.dial(port)',
          'dialing.then((late) => { if ($gaveUp) late.end() })',
          'await made = Promise.race([dialing, far.timeout(1000)])',
          'if ($gaveUp) return',
          '$socket = made',
        ],
      },
    ],
    repairedState: { gaveUp: 'false' },
  },
  {
    name: 'one end is counted twice',
    classes: ['lifetime-mismatch'],
    state: { active: '0' },
    methods: [
      {
        name: 'run',
        params: ['command'],
        body: [
          '$active++',
          'const child = far.spawn(command)',
          'child.on("error", () => { $active-- })',
          'child.on("close", () => { $active-- })',
        ],
      },
      { name: 'count', body: ['return $active'] },
    ],
    repaired: [
      {
        name: 'run',
        params: ['command'],
        body: [
          '$active++',
          'const child = far.spawn(command)',
          'child.on("error", () => { far.log(command) })',
          'child.on("close", () => { $active-- })',
        ],
      },
    ],
  },
  {
    name: 'work is registered while the rest is waited for',
    notIn: ['one function'],
    classes: ['atomicity-gap'],
    state: { running: '[]', store: 'far.open()' },
    methods: [
      {
        name: 'close',
        body: ['await done = far.all([...$running])', '$store.close()'],
      },
      { name: 'handle', params: ['message'], body: ['$running.push($store.put(message))'] },
    ],
    repaired: [
      {
        name: 'close',
        body: ['$closing = true', 'await done = far.all([...$running])', '$store.close()'],
      },
      {
        name: 'handle',
        params: ['message'],
        body: ['if ($closing) return', '$running.push($store.put(message))'],
      },
    ],
    repairedState: { closing: 'false' },
  },
  {
    name: 'context of one call in shared state',
    notIn: ['one function'],
    classes: ['missing-guard'],
    state: { current: 'null' },
    methods: [
      {
        name: 'runAs',
        params: ['user'],
        body: ['$current = user', 'await done = far.work()', '$current = null'],
      },
      { name: 'user', body: ['return $current'] },
    ],
    repaired: [
      {
        name: 'runAs',
        params: ['user'],
        body: ['await done = far.work(user)', 'far.log(done)'],
      },
    ],
  },
  {
    name: 'mark cleared after the work',
    notIn: ['one function'],
    classes: ['atomicity-gap'],
    state: { text: "''", changed: 'false' },
    methods: [
      { name: 'edit', params: ['next'], body: ['$text = next', '$changed = true'] },
      {
        name: 'save',
        body: ['if (!$changed) return', 'await done = far.write($text)', '$changed = false'],
      },
    ],
    repaired: [
      {
        name: 'save',
        body: ['if (!$changed) return', '$changed = false', 'await done = far.write($text)'],
      },
    ],
  },
  {
    name: 'entry used after a wait in which it may be removed',
    notIn: ['one function'],
    classes: ['stale-reference'],
    state: { peers: 'new Map()' },
    methods: [
      { name: 'join', params: ['id'], body: ['$peers.set(id, far.peer(id))'] },
      { name: 'leave', params: ['id'], body: ['$peers.delete(id)'] },
      {
        name: 'tell',
        params: ['id'],
        body: [
          'if (!$peers.has(id)) return',
          'await text = far.text(id)',
          '$peers.get(id).send(text)',
        ],
      },
    ],
    repaired: [
      {
        name: 'tell',
        params: ['id'],
        body: [
          'if (!$peers.has(id)) return',
          'await text = far.text(id)',
          'if ($peers.has(id)) $peers.get(id).send(text)',
        ],
      },
    ],
  },
  {
    name: 'answer of two callers is kept twice',
    // A handle in an argument object is not known to be used by other functions.
    notIn: ['one function', 'parameter'],
    classes: ['toctou'],
    state: { found: 'null' },
    methods: [
      {
        name: 'find',
        body: [
          'if ($found) return $found',
          'await made = far.discover()',
          '$found = made',
          'return made',
        ],
      },
    ],
    repaired: [
      {
        name: 'find',
        body: ['if (!$found) $found = far.discover()', 'return $found'],
      },
    ],
  },
  {
    name: 'part of an entry is registered after close',
    // A handle in an argument object is not known to be used by other functions.
    notIn: ['one function', 'parameter'],
    classes: ['lifetime-mismatch'],
    state: { open: '[]' },
    methods: [
      {
        name: 'listen',
        params: ['port'],
        body: ['await server = far.listen(port)', '$open.push({ server, port })'],
      },
      { name: 'close', body: ['for (const { server } of $open) server.close()'] },
    ],
    repaired: [
      {
        name: 'listen',
        params: ['port'],
        body: [
          'await server = far.listen(port)',
          'if ($closed) server.close()',
          'else $open.push({ server, port })',
        ],
      },
      {
        name: 'close',
        body: ['$closed = true', 'for (const { server } of $open) server.close()'],
      },
    ],
    repairedState: { closed: 'false' },
  },
]
