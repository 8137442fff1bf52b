import { source, type PageStep, type RulePage } from '../page.ts'

/** The effect on other callers is the same for all of them. */
function held(by: string): readonly PageStep[] {
  return [
    ['A', 'a request arrives, its handler runs'],
    ['A', by],
    ['B', 'another request has arrived, and waits'],
    ['A', 'the handler resumes'],
    ['B', 'is answered, later by all of that'],
  ]
}

const window = [2, 3] as const

export const blockingPages: readonly RulePage[] = [
  {
    id: 'B101',
    name: 'sync-io',
    class: 'blocking',
    level: 'warning',
    summary: 'A synchronous file operation is reached from a handler, a job or a timer.',
    what: `A function of node:fs that ends in Sync, or one that a model describes as such, is called on a
way that starts in a request handler, a listener, a timer or a job. At start-up it is a note.`,
    why: `A read from a warm page cache takes microseconds, one from a network disk seconds. Meanwhile
nothing else happens in the process: no request is answered, no timer fires, no heartbeat is sent.`,
    race: source`
      import { readFileSync } from 'node:fs'
      import { createServer } from 'node:http'

      createServer((request, response) => {
        const page = readFileSync('pages/index.html', 'utf8')
        response.end(page)
      }).listen(8080)
    `,
    steps: held('readFileSync() waits for the disk'),
    window,
    fixed: source`
      import { readFile } from 'node:fs/promises'
      import { createServer } from 'node:http'

      createServer(async (request, response) => {
        const page = await readFile('pages/index.html', 'utf8')
        response.end(page)
      }).listen(8080)
    `,
    fixes: [
      'Use the function of node:fs/promises. Look for state that is checked before the new await and used after it.',
      'Read it once, when the module is loaded.',
    ],
  },
  {
    id: 'B102',
    name: 'sync-process',
    class: 'blocking',
    level: 'warning',
    summary: 'The loop waits for another process to end.',
    what: `A handler, a job or a timer reaches execSync, execFileSync or spawnSync.`,
    why: `The other process takes as long as it takes, and may wait for this one.`,
    race: source`
      import { execFileSync } from 'node:child_process'
      import { createServer } from 'node:http'

      createServer((request, response) => {
        const version = execFileSync('git', ['rev-parse', 'HEAD'])
        response.end(version)
      }).listen(8080)
    `,
    steps: held('execFileSync() waits until git has ended'),
    window,
    fixed: source`
      import { execFile } from 'node:child_process'
      import { createServer } from 'node:http'
      import { promisify } from 'node:util'

      const run = promisify(execFile)

      createServer(async (request, response) => {
        const { stdout } = await run('git', ['rev-parse', 'HEAD'])
        response.end(stdout)
      }).listen(8080)
    `,
    fixes: ['Use the asynchronous function.', 'Ask once, when the module is loaded.'],
  },
  {
    id: 'B103',
    name: 'sync-crypto-or-compression',
    class: 'blocking',
    level: 'warning',
    summary: 'A key is derived, or data is compressed, on the loop.',
    what: `A function of node:crypto or node:zlib that ends in Sync and is slow by intent or by size, or
its counterpart in a package, is reached from a handler, a job or a timer.`,
    why: `Deriving a key from a password takes a tenth of a second by design. Ten logins at once are a
second in which the server answers nobody.`,
    race: source`
      import { pbkdf2Sync } from 'node:crypto'
      import { createServer } from 'node:http'

      createServer((request, response) => {
        const key = pbkdf2Sync(String(request.headers.authorization), 'salt', 600_000, 32, 'sha256')
        response.end(key.toString('hex'))
      }).listen(8080)
    `,
    steps: held('pbkdf2Sync() computes for a tenth of a second'),
    window,
    fixed: source`
      import { pbkdf2 } from 'node:crypto'
      import { createServer } from 'node:http'
      import { promisify } from 'node:util'

      const derive = promisify(pbkdf2)

      createServer(async (request, response) => {
        const key = await derive(String(request.headers.authorization), 'salt', 600_000, 32, 'sha256')
        response.end(key.toString('hex'))
      }).listen(8080)
    `,
    fixes: [
      'Use the asynchronous function: it runs in a thread of the pool of Node.',
      'Move it to a thread of your own, where the pool of four is busy.',
    ],
  },
  {
    id: 'B104',
    name: 'unbounded-parse',
    class: 'blocking',
    level: 'warning',
    summary: 'Input of any size is parsed or serialised on the loop.',
    what: `JSON.parse, JSON.stringify, structuredClone or a parser of a package gets data from a
request, a file, a message or a query, and nothing before the call limits its size.`,
    why: `A hundred megabytes of JSON take a second. The sender decides how long your server
stands still.`,
    race: source`
      import { createServer } from 'node:http'
      import { text } from 'node:stream/consumers'

      createServer(async (request, response) => {
        const body = await text(request)
        const order = JSON.parse(body)
        response.end(String(order.id))
      }).listen(8080)
    `,
    steps: held('JSON.parse() reads all of the body'),
    window,
    fixed: source`
      import { createServer } from 'node:http'
      import { text } from 'node:stream/consumers'

      createServer(async (request, response) => {
        const body = await text(request)
        if (body.length > 100_000) return void response.writeHead(413).end()
        const order = JSON.parse(body)
        response.end(String(order.id))
      }).listen(8080)
    `,
    fixes: [
      'Refuse data that is too large, before it is parsed.',
      'Parse it in a thread.',
      'Read it in pieces, with a streaming parser.',
    ],
  },
  {
    id: 'B105',
    name: 'slow-regexp',
    class: 'blocking',
    level: 'error',
    summary: 'A regular expression can take time that grows much faster than its input.',
    what: `A pattern, written as a literal or folded from texts, has two ways to match the same
characters inside a repetition, and is used on input that nothing limits. An automaton proves it, and
finds a text that shows it.`,
    why: `Thirty characters are enough for a minute. It is the shortest way to take a server down from
outside.`,
    race: source`
      import { createServer } from 'node:http'

      createServer((request, response) => {
        const isName = /^([a-z]+)+$/.test(String(request.url))
        response.end(String(isName))
      }).listen(8080)
    `,
    steps: held('the pattern tries every way to cut aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa! into words'),
    window,
    fixed: source`
      import { createServer } from 'node:http'

      createServer((request, response) => {
        const isName = /^[a-z]+$/.test(String(request.url))
        response.end(String(isName))
      }).listen(8080)
    `,
    fixes: ['Leave the pattern only one way to match.', 'Limit the length of its input.'],
  },
  {
    id: 'B106',
    name: 'request-sized-work',
    class: 'blocking',
    level: 'warning',
    summary: 'Work that grows with the input is done on the loop: sorting, hashing, rendering.',
    what: `Sorting, hashing, joining buffers in a loop, spreading arguments, compiling templates, rendering
or image work gets data from outside, and nothing limits its size.`,
    why: `It is fast for every test and every developer, and slow for the largest customer.`,
    race: source`
      import { createHash } from 'node:crypto'
      import { createServer } from 'node:http'
      import { buffer } from 'node:stream/consumers'

      createServer(async (request, response) => {
        const body = await buffer(request)
        const hash = createHash('sha256').update(body).digest('hex')
        response.end(hash)
      }).listen(8080)
    `,
    steps: held('update() hashes all of the body'),
    window,
    fixed: source`
      import { createHash } from 'node:crypto'
      import { createServer } from 'node:http'
      import { buffer } from 'node:stream/consumers'

      createServer(async (request, response) => {
        const body = await buffer(request)
        if (body.length > 1_000_000) return void response.writeHead(413).end()
        const hash = createHash('sha256').update(body).digest('hex')
        response.end(hash)
      }).listen(8080)
    `,
    fixes: [
      'Move it to a thread.',
      'Limit the size of the input.',
      'Work on it piece by piece, as the pieces arrive.',
    ],
  },
  {
    id: 'B107',
    name: 'blocking-wait',
    class: 'blocking',
    level: 'warning',
    summary: 'The loop is stopped until another thread or process acts.',
    what: `Atomics.wait, or a package that is built on it, is called on the loop.`,
    why: `The code that has to act may need the loop for it. Then both wait for ever.`,
    race: source`
      import { createServer } from 'node:http'

      const flag = new Int32Array(new SharedArrayBuffer(4))

      createServer((request, response) => {
        Atomics.wait(flag, 0, 0)
        response.end('ready')
      }).listen(8080)
    `,
    steps: held('Atomics.wait() stops the thread until another one notifies it'),
    window,
    fixed: source`
      import { createServer } from 'node:http'

      const flag = new Int32Array(new SharedArrayBuffer(4))

      createServer(async (request, response) => {
        await Atomics.waitAsync(flag, 0, 0).value
        response.end('ready')
      }).listen(8080)
    `,
    fixes: ['Use the asynchronous function: Atomics.waitAsync, a promise.', 'Wait in a thread.'],
  },
  {
    id: 'B108',
    name: 'busy-loop',
    class: 'blocking',
    level: 'warning',
    summary: 'A loop without a suspension waits for a change that nothing on the loop can make.',
    what: `A loop has no suspension in it, and no statement in it changes what its condition reads; or it
tries again and again until something works.`,
    why: `What it waits for would have to happen on the loop that it holds. It never ends.`,
    race: source`
      let isReady = false

      export function onReady(): void {
        isReady = true
      }

      export function waitUntilReady(): void {
        while (!isReady) {}
      }
    `,
    steps: [
      ['A', 'waitUntilReady(): it is not ready'],
      ['A', 'checks again, and again'],
      ['B', 'onReady() would set the flag, and waits for the loop'],
    ],
    window,
    fixed: source`
      const ready = Promise.withResolvers<void>()

      export function onReady(): void {
        ready.resolve()
      }

      export function waitUntilReady(): Promise<void> {
        return ready.promise
      }
    `,
    fixes: ['Wait for an event or a promise.', 'Wait between the attempts, and limit them.'],
  },
  {
    id: 'B109',
    name: 'code-loading',
    class: 'blocking',
    level: 'warning',
    summary: 'Code is found, read and compiled while a request waits.',
    what: `A handler, a job or a timer loads code by a name that it is given: require() of a text that is put
together, or a function of node:vm.`,
    why: `Each new name pays for the whole tree of modules behind it, with synchronous reads. The caller
that chooses the name chooses which code runs.`,
    race: source`
      import { createServer } from 'node:http'

      createServer((request, response) => {
        const { hello } = require('./locales/' + request.headers['accept-language'])
        response.end(hello)
      }).listen(8080)
    `,
    steps: held('require() finds, reads, compiles and runs the module'),
    window,
    fixed: source`
      import { createServer } from 'node:http'
      import { locales } from './locales.ts'

      createServer((request, response) => {
        const locale = locales.get(request.headers['accept-language'] ?? 'en')
        response.end(locale?.hello)
      }).listen(8080)
    `,
    fixes: [
      'Load all modules at the start, and look the name up among them.',
      'Load it before the server listens.',
    ],
  },
  {
    id: 'B110',
    name: 'sync-database',
    class: 'blocking',
    level: 'warning',
    summary: 'A synchronous database is used on the loop.',
    what: `A statement of node:sqlite, better-sqlite3 or the like is run on a way that starts in a request
handler, a listener, a timer or a job.`,
    why: `A statement on an index takes microseconds; one that scans, waits for a lock or meets a
checkpoint takes as long as that takes.`,
    race: source`
      import { createServer } from 'node:http'
      import { DatabaseSync } from 'node:sqlite'

      const database = new DatabaseSync('shop.db')

      createServer((request, response) => {
        const orders = database.prepare('SELECT * FROM orders').all()
        response.end(String(orders.length))
      }).listen(8080)
    `,
    steps: held('all() reads the whole table'),
    window,
    fixed: source`
      import { createServer } from 'node:http'
      import { countOrders } from './orders.ts'

      // countOrders is a job with place: 'thread'; the database is opened there.
      createServer(async (request, response) => {
        response.end(String(await countOrders()))
      }).listen(8080)
    `,
    fixes: [
      'Use the database in a thread.',
      'Keep statements small: on an index, with a limit, with a short busy time-out.',
    ],
  },
  {
    id: 'B111',
    name: 'sync-console',
    class: 'blocking',
    level: 'note',
    summary: 'The console is used for every request.',
    what: `A handler reaches console.log or one of its relatives. On files and, mostly, on terminals and
pipes they write synchronously.`,
    why: `A slow terminal, or a pipe whose reader is slow, slows every request down.`,
    race: source`
      import { createServer } from 'node:http'

      createServer((request, response) => {
        console.log(request.method, request.url)
        response.end('ok')
      }).listen(8080)
    `,
    steps: held('console.log() waits for the pipe'),
    window,
    fixed: source`
      import { createServer } from 'node:http'
      import { log } from './log.ts'

      createServer((request, response) => {
        log.info({ url: request.url }, 'request')
        response.end('ok')
      }).listen(8080)
    `,
    fixes: ['Use a logger that writes asynchronously.', 'Count, and log a summary now and then.'],
  },
]
