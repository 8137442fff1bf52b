import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { findBlocking } from '../../src/blocking/find-blocking.ts'
import type { Catalogue } from '../../src/models/catalogue.ts'
import { loadCatalogue } from '../../src/models/load.ts'
import { programOf } from './program.ts'

let catalogue: Catalogue
before(async () => (catalogue = await loadCatalogue()))

const find = (files: string | Record<string, string>) =>
  findBlocking(programOf(typeof files === 'string' ? { 'src/a.ts': files } : files), catalogue)

/** `B101 warning`, one for each finding. */
const short = (files: string | Record<string, string>): string[] =>
  find(files).map(({ rule, level }) => `${rule} ${level}`)

const cases: [name: string, code: string, expected: string[]][] = [
  [
    'sync I/O on the path of a request',
    `import fs from 'node:fs'
     app.get('/x', (req, res) => { res.send(fs.readFileSync('page.html')) })`,
    ['B101 warning'],
  ],
  [
    'sync I/O in an async function that is exported',
    `import { readFileSync } from 'fs'
     export async function load(file) { return readFileSync(file) }`,
    ['B101 note'],
  ],
  [
    'sync I/O in a function that takes a callback, as CommonJS',
    `const fs = require('fs')
     exports.load = function load(file, callback) { callback(null, fs.readFileSync(file)) }`,
    ['B101 note'],
  ],
  [
    'sync I/O at start-up',
    `import fs from 'fs'\nconst page = fs.readFileSync('page.html')`,
    ['B101 note'],
  ],
  [
    'sync I/O in a sync function that is exported',
    `import fs from 'fs'\nexport function read(file) { return fs.readFileSync(file) }`,
    ['B101 note'],
  ],
  [
    'sync I/O that the name of the function promises',
    `import fs from 'fs'\nexport function loadSync(file) { return fs.readFileSync(file) }`,
    [],
  ],
  [
    'sync I/O that is done once and kept',
    `import fs from 'fs'
     let page
     app.get('/x', (req, res) => { page ??= fs.readFileSync('page.html'); res.send(page) })`,
    ['B101 note'],
  ],
  [
    'sync I/O as the process ends',
    `import fs from 'fs'\nprocess.on('exit', () => { fs.unlinkSync('lock') })`,
    ['B101 note'],
  ],
  [
    'a function of the same name that is not of Node',
    `import fs from './fs.ts'\nexport async function f() { fs.readFileSync('x') }`,
    [],
  ],
  [
    'a process that is waited for, by a timer',
    `import { execSync } from 'node:child_process'
     setInterval(() => { execSync('df') }, 1000)`,
    ['B102 warning'],
  ],
  [
    'key derivation in an async function',
    `import crypto from 'node:crypto'
     export async function login(password, salt) { return crypto.pbkdf2Sync(password, salt, 1e5, 32, 'sha256') }`,
    ['B103 note'],
  ],
  [
    'compression of what a caller hands in, in an async function',
    `import zlib from 'node:zlib'
     export async function unpack(buffer) { return zlib.gunzipSync(buffer) }`,
    ['B103 note'],
  ],
  [
    'compression of something small',
    `import zlib from 'node:zlib'
     export async function pack() { return zlib.gzipSync('constant') }`,
    [],
  ],
  [
    'compression with a limit',
    `import zlib from 'node:zlib'
     export async function unpack(buffer) { return zlib.gunzipSync(buffer, { maxOutputLength: 1000 }) }`,
    [],
  ],
  [
    'sync I/O in a middleware that is handed out',
    `import fs from 'node:fs'
     export default function serve(root) {
       return function middleware(req, res, next) { fs.stat(root, next); fs.readFileSync(root) }
     }`,
    ['B101 warning'],
  ],
  [
    'bcryptjs, whose asynchronous functions use the loop too',
    `import bcrypt from 'bcryptjs'
     app.post('/login', async (req, res) => { await bcrypt.compare(req.body.password, hash) })`,
    ['B103 warning'],
  ],
  [
    'JSON of a message',
    `socket.on('message', (data) => { handle(JSON.parse(data)) })`,
    ['B104 warning'],
  ],
  [
    'JSON of a message of a child process of our own',
    `import { fork } from 'node:child_process'
     const child = fork('job.js')
     child.on('message', (data) => { handle(JSON.parse(data)) })`,
    ['B104 note'],
  ],
  [
    'JSON of a message after its size was checked',
    `socket.on('message', (data) => { if (data.length > 1000) return; handle(JSON.parse(data)) })`,
    [],
  ],
  [
    'JSON of chunks that were put together',
    `server.on('request', (request) => {
       let body = ''
       request.on('data', (chunk) => { body += chunk })
       request.on('end', () => { handle(JSON.parse(body)) })
     })`,
    ['B104 warning'],
  ],
  [
    'JSON of chunks in a list',
    `server.on('request', (request) => {
       const chunks = []
       request.on('data', (chunk) => { chunks.push(chunk) })
       request.on('end', () => { handle(JSON.parse(Buffer.concat(chunks).toString())) })
     })`,
    ['B104 warning'],
  ],
  ['JSON of a constant', `app.get('/x', (req, res) => { res.send(JSON.parse('{}')) })`, []],
  [
    'JSON of a body that its parser limits',
    `app.post('/x', (req, res) => { JSON.stringify(req.body) })`,
    [],
  ],
  [
    'the JSON of a request, read by the platform',
    `server.route('/x', async (request) => { const body = await request.json(); return body })`,
    ['B104 warning'],
  ],
  [
    'YAML of an answer of another server',
    `import yaml from 'js-yaml'
     app.get('/x', async (req, res) => { const answer = await fetch('http://x'); yaml.load(await answer.text()) })`,
    ['B104 note'],
  ],
  [
    'sorting of a query result',
    `import { Pool } from 'pg'
     const pool = new Pool()
     app.get('/x', async (req, res) => { const rows = await pool.query('select'); res.send(rows.rows.sort()) })`,
    ['B106 warning'],
  ],
  [
    'hash of a whole file on the path of a request',
    `import { createHash } from 'node:crypto'
     import { text } from 'node:stream/consumers'
     app.put('/x', async (req, res) => { createHash('sha256').update(await text(req)).digest('hex') })`,
    ['B106 warning'],
  ],
  [
    'Buffer.concat that copies all it has for each chunk',
    `server.on('request', (request) => {
       let all = Buffer.alloc(0)
       request.on('data', (chunk) => { all = Buffer.concat([all, chunk]) })
     })`,
    ['B106 warning'],
  ],
  [
    'spread of a message',
    `socket.on('message', (data) => { const most = Math.max(...data.values) })`,
    ['B106 warning'],
  ],
  [
    'rendering on the path of a request',
    `import { renderToString } from 'react-dom/server'
     app.get('/x', (req, res) => { res.send(renderToString(page)) })`,
    ['B106 warning'],
  ],
  [
    'a wait that holds the thread',
    `export async function wait(flag) { Atomics.wait(flag, 0, 0) }`,
    ['B107 note'],
  ],
  [
    'a wait for the clock',
    `export async function sleep(ms) { const end = Date.now() + ms; while (Date.now() < end) {} }`,
    ['B108 note'],
  ],
  [
    'attempts without limit and pause',
    `app.get('/x', (req, res) => { for (;;) { try { return open() } catch { clean() } } })`,
    ['B108 warning'],
  ],
  [
    'a way up through folders that ends at the top',
    `export async function find(dir) { for (;;) { try { if (has(dir)) break } catch {} const up = above(dir); if (up === dir) break; dir = up } }`,
    [],
  ],
  [
    'attempts with a pause',
    `app.get('/x', async (req, res) => { for (;;) { try { return open() } catch { await pause() } } })`,
    [],
  ],
  [
    'a parser that goes on to the end',
    `export async function parse(text) { while (true) { const token = next(text); if (token === undefined) break; use(token) } }`,
    [],
  ],
  [
    'code that the request chooses',
    `app.get('/x', (req, res) => { res.send(require('./pages/' + req.query.page)) })`,
    ['B109 warning'],
  ],
  [
    'a database that answers at once',
    `import { DatabaseSync } from 'node:sqlite'
     const db = new DatabaseSync('x.db')
     app.get('/x', (req, res) => { res.send(db.prepare('select 1').all()) })`,
    ['B110 warning', 'B110 warning'],
  ],
  [
    'the console, on the path of a request',
    `app.get('/x', (req, res) => { console.log(req.url) })`,
    ['B111 note'],
  ],
  [
    'work in a thread job',
    `import { job } from '@heddle/core'
     import fs from 'node:fs'
     export const read = job({ name: 'read', place: 'thread', module: import.meta.url }, (file) => fs.readFileSync(file))`,
    [],
  ],
  [
    'work in a job on the loop',
    `import { job } from '@heddle/core'
     import fs from 'node:fs'
     export const read = job({ name: 'read' }, (file) => fs.readFileSync(file))`,
    ['B101 warning'],
  ],
  [
    'work in the entry of a thread',
    `import { parentPort } from 'node:worker_threads'
     import fs from 'node:fs'
     parentPort.on('message', (file) => { parentPort.postMessage(fs.readFileSync(file)) })`,
    [],
  ],
]

for (const [name, code, expected] of cases) {
  test(name, () => assert.deepEqual(short(code), expected))
}

test('a command line tool may block: it serves no other caller', () => {
  const code = `import fs from 'fs'\nexport async function run(file) { return fs.readFileSync(file) }`
  assert.deepEqual(short({ 'bin/run.ts': code }), ['B101 note'])
  assert.deepEqual(short({ 'src/tool.ts': `#!/usr/bin/env node\n${code}` }), ['B101 note'])
})

test('the way from the handler to the call is in the trace', () => {
  const [finding] = find({
    'src/server.ts': `import { page } from './page.ts'\napp.get('/x', (req, res) => { res.send(page('a')) })`,
    'src/page.ts': `import { read } from './read.ts'\nexport function page(name) { return read(name) }`,
    'src/read.ts': `import fs from 'node:fs'\nexport function read(name) { return fs.readFileSync(name) }`,
  })
  assert.equal(finding?.rule, 'B101')
  assert.equal(finding.level, 'warning')
  assert.equal(finding.file, 'src/read.ts')
  assert.deepEqual(
    finding.trace.map(({ span, text }) => `${span.file}:${span.line} ${text}`),
    [
      'src/server.ts:2 <module>.<callback> runs: app.get() in <module> runs it',
      'src/server.ts:2 <module>.<callback> calls page()',
      'src/page.ts:2 page calls read()',
      'src/read.ts:2 fs.readFileSync() holds the loop: it waits for the disk',
      'src/read.ts:2 timers, sockets and other requests wait until it returns',
    ],
  )
  assert.match(finding.message, /on the path of a request, by way of <module>\.<callback>\.$/)
})

test('every finding has two repairs or more and a key without lines', () => {
  for (const [, code] of cases) {
    for (const finding of find(code)) {
      assert.ok(finding.fixes.length >= 2, finding.rule)
      for (const { sketch } of finding.fixes) assert.notEqual(sketch, '')
      assert.doesNotMatch(finding.key, /\n/)
    }
  }
})

test('twice in one function is once in the report', () => {
  const code = `import fs from 'fs'
    export async function f(a, b) { fs.rmSync(a); fs.rmSync(b); fs.statSync(a) }`
  assert.deepEqual(
    find(code).map(({ key }) => key),
    ['fs.rmSync()', 'fs.statSync()'],
  )
})
