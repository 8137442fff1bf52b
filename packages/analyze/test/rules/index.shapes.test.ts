/** Races in many spellings: each has to be found, whatever the rule that finds it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findIn, isComplete } from '../support/races.ts'

type Shape = readonly [name: string, found: string, extension: 'ts' | 'js', source: string]

const shapes: readonly Shape[] = [
  [
    'token-through-a-predicate',
    'toctou',
    'ts',
    `
import { request } from 'gaxios'
export class A { token: any; until = 0; hasExpired() { return !this.token || this.until < Date.now() } async get() { if (this.hasExpired()) await this.renew(); return this.token } async renew() { const answer = await request({ method: 'POST', url: 'u' }); this.token = answer.data } }`,
  ],
  [
    'token-through-a-predicate-that-says-no',
    'toctou',
    'ts',
    `
import { request } from 'gaxios'
export class A { token: any; until = 0; isValid() { return this.token !== undefined && this.until > Date.now() } async get() { if (!this.isValid()) await this.renew(); return this.token } async renew() { const answer = await request({ method: 'POST', url: 'u' }); this.token = answer.data } }`,
  ],
  [
    'entry-that-is-closed-under-another-key',
    'toctou',
    'ts',
    `
export class A { open = new Map<string, any>(); async get(host: string) { if (!this.open.has(host)) { const made = await connect(host); this.open.set(host, made) } return this.open.get(host) } drop(name: string) { const one = this.open.get(name); this.open.delete(name); one?.close() } }`,
  ],
  [
    'list-that-replaces-a-list',
    'toctou',
    'ts',
    `
export class A { lists = new Map<string, any[]>(); async add(topic: string, one: any) { if (!this.lists.has(topic)) { await subscribe(topic); this.lists.set(topic, []) } this.lists.get(topic)!.push(one) } }`,
  ],
  [
    'length-set-to-zero-after-sending',
    'atomicity-gap',
    'ts',
    `
export class A { lines: string[] = []; async flush() { await post(this.lines.slice()); this.lines.length = 0 } add(line: string) { this.lines.push(line) } }`,
  ],
  [
    'handled-twice-in-a-listener',
    'toctou',
    'ts',
    `
export function listen(socket: any) { const seen = new Set(); socket.on('message', async (message: any) => { if (seen.has(message.id)) return; await handle(message); seen.add(message.id) }) }`,
  ],
  [
    'then-memo',
    'toctou',
    'js',
    `
class A { get() { if (this.token) return Promise.resolve(this.token); return this.fetchToken().then(t => { this.token = t; return t }) } fetchToken() { return fetch('x').then(r => r.json()) } }
module.exports = A`,
  ],
  [
    'cb-memo',
    'toctou',
    'js',
    `
var cache = {};
exports.load = function (key, cb) { if (cache[key]) return cb(null, cache[key]); db.find(key, function (err, v) { if (err) return cb(err); cache[key] = v; cb(null, v) }) }`,
  ],
  [
    'awaiter',
    'toctou',
    'js',
    `
"use strict"; var __awaiter = (this && this.__awaiter) || function () {};
class C { connect() { return __awaiter(this, void 0, void 0, function* () { if (this.client) return this.client; const c = yield createClient(); this.client = c; return c; }); } }
exports.C = C;`,
  ],
  [
    'generator-es5',
    'toctou',
    'js',
    `
var C = /** @class */ (function () {
  function C() { this.client = null; }
  C.prototype.connect = function () { return __awaiter(this, void 0, void 0, function () { var _a; return __generator(this, function (_b) { switch (_b.label) { case 0: if (!!this.client) return [3 /*break*/, 2]; _a = this; return [4 /*yield*/, createClient()]; case 1: _a.client = _b.sent(); _b.label = 2; case 2: return [2 /*return*/, this.client]; } }); }); };
  return C; }());
exports.C = C;`,
  ],
  [
    'parallel-sum',
    'atomicity-gap',
    'ts',
    `
export async function sum(xs: string[]) { let total = 0; await Promise.all(xs.map(async x => { total += await f(x) })); return total }`,
  ],
  [
    'peek-shift',
    'atomicity-gap',
    'ts',
    `
export class Q { queue: string[] = []; async drain() { while (this.queue.length > 0) { const item = this.queue[0]; await this.send(item); this.queue.shift() } } async send(x) { await post(x) } }`,
  ],
  [
    'limit',
    'toctou',
    'ts',
    `
export class P { active = 0; max = 3; async run(f) { if (this.active >= this.max) throw new Error('busy'); await this.prepare(); this.active++; try { return await f() } finally { this.active-- } } async prepare() { await tick() } }`,
  ],
  [
    'close-twice-flag',
    'toctou',
    'ts',
    `
export class S { closed = false; async close() { if (this.closed) return; await this.flush(); this.closed = true; this.handle.close() } async flush() { await w() } }`,
  ],
  [
    'reset-reload',
    'atomicity-gap',
    'ts',
    `
export class R { items = []; async reload() { this.items = []; const rows = await load(); for (const r of rows) this.items.push(r) } find(id) { return this.items.find(i => i.id === id) } }`,
  ],
  [
    'state-string',
    'toctou',
    'ts',
    `
export class M { state = 'idle'; async start() { if (this.state !== 'idle') throw new Error('x'); await this.connect(); this.state = 'running' } async connect() { await c() } }`,
  ],
  [
    'late-register',
    'lifetime-mismatch',
    'ts',
    `
export class Pool { conns = new Map(); async open(id) { const c = await dial(id); this.conns.set(id, c); return c } async close() { for (const c of this.conns.values()) await c.close(); this.conns.clear() } }`,
  ],
  [
    'floating-save',
    'atomicity-gap',
    'ts',
    `
export class St { value = 0; async save(v) { await disk(v); this.value = v } async update(v) { await check(v); this.save(v); return this.value } async other() { await this.save(1) } }`,
  ],
  [
    'rmw-map',
    'atomicity-gap',
    'ts',
    `
const counts = new Map<string, number>(); export async function hit(k: string) { const n = counts.get(k) ?? 0; await log(k); counts.set(k, n + 1) }`,
  ],
  [
    'rmw-store',
    'atomicity-gap',
    'ts',
    `
export class B { constructor(private redis: Redis) {} async incr(k: string) { const v = await this.redis.get(k); const n = Number(v) + 1; await this.redis.set(k, String(n)) } }`,
  ],
  [
    'interval-async',
    'missing-guard',
    'ts',
    `
export class Poll { start() { setInterval(() => this.poll(), 1000) } async poll() { const r = await fetch('x'); this.last = r } }`,
  ],
  [
    'interval-ref',
    'missing-guard',
    'js',
    `
class W { start() { this.timer = setInterval(this.tick.bind(this), 100) } async tick() { const jobs = await this.db.find(); for (const j of jobs) { this.queue.push(j) } } } module.exports = W`,
  ],
  [
    'refresh-token',
    'missing-guard',
    'ts',
    `
export class Auth { private refreshToken: string; async refresh() { const res = await this.http.post('/token', { refresh_token: this.refreshToken }); this.refreshToken = res.refresh_token; this.accessToken = res.access_token } }`,
  ],
  [
    'closed-recheck',
    'stale-reference',
    'ts',
    `
export class K { closed = false; async run() { if (this.closed) return; await a(); if (this.closed) return; await b(); this.socket.write('x') } close() { this.closed = true; this.socket.end() } }`,
  ],
  [
    'alias',
    'stale-reference',
    'ts',
    `
export class D { conn; async q(sql) { const c = this.conn; if (!c) throw new Error('closed'); await this.wait(); return c.query(sql) } async wait() { await t() } async close() { const c = this.conn; this.conn = null; await c.end() } }`,
  ],
  [
    'ready-claim',
    'stale-reference',
    'ts',
    `
export class Cl { async connect() { this.socket = await dial(); this.socket.on('close', () => this.onClose()); await this.handshake(); this.ready = true } onClose() { this.ready = false; this.socket = null } async handshake() { await h() } }`,
  ],
  [
    'db-find-create',
    'toctou',
    'ts',
    `
app.post('/u', async (req, res) => { const u = await User.findOne({ email: req.body.email }); if (!u) { await User.create({ email: req.body.email }) } res.end() })`,
  ],
  [
    'fs-exists-cb',
    'toctou',
    'js',
    `
const fs = require('fs'); exports.save = function (p, data, cb) { fs.exists(p, function (e) { if (!e) { fs.writeFile(p, data, cb) } }) }`,
  ],
  [
    'listener-handler',
    'toctou',
    'js',
    `
const clients = new Map(); server.on('connection', async (sock) => { if (clients.has(sock.id)) return; const c = await createClient(sock); clients.set(sock.id, c) })`,
  ],
  [
    'early-return-inflight',
    'stale-reference',
    'ts',
    `
export class I { loading = false; data = null; async load() { if (this.loading) return; this.loading = true; try { this.data = await fetchData() } finally { this.loading = false } } async get() { await this.load(); return this.data.value } }`,
  ],
  [
    'lock-leak',
    'lifetime-mismatch',
    'ts',
    `
export class L { constructor(private mutex: Mutex) {} async w() { await this.mutex.acquire(); await work(); this.mutex.release() } }`,
  ],
  [
    'module-singleton',
    'toctou',
    'ts',
    `
let client: Client | undefined; export async function getClient() { if (!client) { client = await connect() } return client }`,
  ],
  [
    'or-assign',
    'toctou',
    'ts',
    `
let db; export async function getDb() { return db || (db = await openDb()) }`,
  ],
  [
    'nullish-await',
    'toctou',
    'ts',
    `
export class X { #db; async db() { this.#db ??= await openDb(); return this.#db } }`,
  ],
  [
    'sync-proto-flag',
    'toctou',
    'js',
    `
function Server() { this.listening = false } Server.prototype.listen = function (port, cb) { var self = this; if (self.listening) return cb(); self.setup(function (err) { if (err) return cb(err); self.listening = true; cb() }) }; Server.prototype.setup = function (cb) { setTimeout(cb, 10) }; module.exports = Server`,
  ],
  [
    'subscribe-late',
    'toctou',
    'ts',
    `
export async function waitReady(child) { const ready = await isReady(child); if (ready) return; await new Promise(r => child.once('ready', r)) }`,
  ],

  [
    'factory-closure',
    'toctou',
    'js',
    `function createStore(url) { let conn = null; return { async get(k) { if (!conn) conn = await connect(url); return conn.get(k) }, close() { conn = null } } } module.exports = createStore`,
  ],
  [
    'static-singleton',
    'toctou',
    'ts',
    `export class Foo { static instance: Foo | undefined; static async get() { if (!Foo.instance) { const c = await connect(); Foo.instance = new Foo(c) } return Foo.instance } }`,
  ],
  [
    'namespace',
    'toctou',
    'ts',
    `export namespace N { let client; export async function get() { if (!client) client = await connect(); return client } }`,
  ],
  [
    'arrow-field',
    'toctou',
    'ts',
    `export class F { client: unknown; get = async () => { if (!this.client) this.client = await connect(); return this.client } }`,
  ],
  [
    'iife-es5-then',
    'toctou',
    'js',
    `(function () { var session; exports.login = function () { if (session) return Promise.resolve(session); return request('/login').then(function (res) { session = createSession(res); return session }) } })()`,
  ],
  [
    'proto-object',
    'toctou',
    'js',
    `function P() {} P.prototype = { connect: function (cb) { var self = this; if (self.connected) return cb(); self.dial(function (err, sock) { self.socket = sock; self.connected = true; cb(null) }) }, dial: function (cb) { setTimeout(cb, 1) } }; module.exports = P`,
  ],
  [
    'object-const',
    'toctou',
    'ts',
    `export const auth = { token: null as any, async get() { if (!this.token) { this.token = await login() } return this.token } }`,
  ],
  [
    'exported-object-member',
    'toctou',
    'ts',
    `const state = { client: null as any }; export async function get() { if (!state.client) { state.client = await connect() } return state.client }`,
  ],
  [
    'try-catch-get',
    'toctou',
    'ts',
    `export class G { cache = new Map<string, Client>(); async client(id: string) { const known = this.cache.get(id); if (known) return known; try { const c = await createClient(id); this.cache.set(id, c); return c } catch (e) { throw e } } }`,
  ],
  [
    'promise-ctor',
    'toctou',
    'js',
    `class A { open() { return new Promise((resolve, reject) => { if (this.db) return resolve(this.db); openDb((err, db) => { if (err) return reject(err); this.db = db; resolve(db) }) }) } } module.exports = A`,
  ],
  [
    'obj-assign-flag',
    'toctou',
    'js',
    `exports.start = async function start(app) { if (started) return; await app.boot(); started = true }; let started = false`,
  ],
  [
    'has-then-set',
    'toctou',
    'ts',
    `const sessions = new Set<string>(); export async function join(id: string) { if (sessions.has(id)) return; await notify(id); sessions.add(id) }`,
  ],
  [
    'delete-after-await',
    'stale-reference',
    'ts',
    `export class R { pending = new Map<string, Promise<void>>(); run(k: string) { const p = this.work(k); this.pending.set(k, p); return p.finally(() => { this.pending.delete(k) }) } async work(k) { await x(k) } }`,
  ],
  [
    'forEach-async',
    'atomicity-gap',
    'ts',
    `export class T { total = 0; run(xs: string[]) { xs.forEach(async (x) => { this.total = this.total + (await price(x)) }) } }`,
  ],
  [
    'reset-null-then-set',
    'atomicity-gap',
    'ts',
    `export class V { list = new Map(); async refresh() { this.list.clear(); const rows = await load(); rows.forEach((r) => this.list.set(r.id, r)) } get(id) { return this.list.get(id) } }`,
  ],
  [
    'async-generator',
    'toctou',
    'js',
    `var _asyncToGenerator = require('x'); class C { connect() { var _this = this; return _asyncToGenerator(function* () { if (_this.conn) return _this.conn; const c = yield dial(); _this.conn = c; return c })() } } module.exports = C`,
  ],
]

/** Seen at first only as notes, or not at all: the level is part of what they prove. */
const reported: ReadonlySet<string> = new Set([
  'token-through-a-predicate',
  'token-through-a-predicate-that-says-no',
  'entry-that-is-closed-under-another-key',
  'list-that-replaces-a-list',
  'length-set-to-zero-after-sending',
  'handled-twice-in-a-listener',
])

for (const [name, wanted, extension, source] of shapes) {
  test(`shape: ${name}`, async () => {
    const findings = await findIn(source, extension)
    const found = findings.filter((finding) => finding.class === wanted)
    assert.notEqual(found.length, 0, `a finding of class ${wanted}`)
    if (reported.has(name)) assert.ok(found.some(({ level }) => level !== 'note'))
    for (const finding of found) isComplete(finding)
  })
}
