import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Inventory } from '../../src/inventory/inventory.ts'
import { makeInventory } from '../../src/inventory/make-inventory.ts'
import { inventoryMarkdown } from '../../src/inventory/inventory-markdown.ts'
import { loadCatalogue } from '../../src/models/load.ts'
import { programOf } from '../blocking/program.ts'
import { service } from './project.ts'

let inventory: Inventory
before(async () => {
  inventory = makeInventory(programOf(service), await loadCatalogue())
})

/** The lines from one heading to the next. */
function part(text: string, heading: string): string[] {
  const lines = text.split('\n')
  const start = lines.indexOf(heading)
  assert.notEqual(start, -1, heading)
  const end = lines.findIndex((line, i) => i > start && /^(?:## |---)/.test(line))
  return lines.slice(start + 1, end < 0 ? undefined : end).filter((line) => line !== '')
}

test('the parts come in the order of the document', () => {
  const headings = inventoryMarkdown(inventory).match(/^#+ .*$/gm)
  assert.deepEqual(headings, [
    '# Async boundaries inventory',
    '## Entry-point matrix',
    '## Legend',
    '## Hot spots by reach',
    '### On the path of requests, jobs, timers and events',
    '### When an exported function is called',
    '### At start-up, in commands, and as the process ends',
    '## 1. `src/jobs.ts`',
    '## 2. `src/render.ts`',
    '## 3. `src/server.ts`',
    '## 4. `src/writer-thread.ts`',
    '## Summary: what still runs on the loop?',
    '## Run-time invariants',
  ])
})

test('a section shows the entry points, their calls, and the risk', () => {
  assert.deepEqual(part(inventoryMarkdown(inventory), '## 3. `src/server.ts`'), [
    'File: [src/server.ts](src/server.ts)',
    '- **[LOOP]** `when the module is loaded` (line 1)',
    '  - **[CPU/LOOP]** `readFileSync()` (line 8)',
    '- **[LOOP]** `GET /file/:name` (line 12)',
    '  - **[THREAD:uv]** `readFile()` (line 13)',
    '  - **[LOOP]** `render()` (line 14)',
    '    - **[CPU/LOOP]** `execSync()` (src/render.ts:5)',
    '- **[LOOP]** `POST /jobs` (line 17)',
    '  - **[REMOTE]** `mails.add()` (line 19)',
    '  - **[PROC]** `spawn()` (line 20)',
    '- **[LOOP]** `GET /video` (line 24)',
    '  - **[STREAM/THREAD]** `createReadStream()` (line 25)',
    '- **[LOOP]** `on message` (line 28)',
    '  - **[CPU/LOOP]** `JSON.parse()` (line 29; message, no limit)',
    '- **[LOOP]** without heavy calls: `every interval`, `ping()`',
    'Event-loop blocking risk:',
    '- note B101, line 8: readFileSync() holds the event loop while it waits for the disk at start-up.',
    '- warning B104, line 29: JSON.parse() on a message of any size holds the event loop while it waits for the whole input to be read or written at an event.',
  ])
})

test('a hot spot shows the call path and the replacement', () => {
  const lines = part(inventoryMarkdown(inventory), '## Hot spots by reach')
  assert.equal(
    lines[1],
    '- `execSync()`: `<module>.<callback>` → `render` ([src/render.ts:5](src/render.ts#L5); warning B102). Instead: spawn() or execFile(), awaited',
  )
})

test('the summary names the remaining work and counts the work elsewhere', () => {
  assert.deepEqual(part(inventoryMarkdown(inventory), '## Summary: what still runs on the loop?'), [
    '- Orchestration: 12 entry points in 4 files.',
    '- **[CPU/LOOP]** `execSync()` in [src/render.ts:5](src/render.ts#L5)',
    '- **[CPU/LOOP]** `JSON.parse()` in [src/server.ts:29](src/server.ts#L29)',
    'Elsewhere: 1 call to the pool of libuv, 3 calls in threads, 1 call to streams from threads, 1 call to processes, 2 calls to other machines.',
  ])
})

test('links can start from another folder', () => {
  const text = inventoryMarkdown(inventory, { linkBase: '../../' })
  assert.match(text, /\[src\/render\.ts:5\]\(\.\.\/\.\.\/src\/render\.ts#L5\)/)
  assert.doesNotMatch(text, /\]\(src\//)
})

test('without line numbers the document changes only with its content', async () => {
  const moved = { ...service, 'src/server.ts': `\n\n${service['src/server.ts']}` }
  const later = makeInventory(programOf(moved), await loadCatalogue())
  const options = { withLines: false }
  assert.equal(inventoryMarkdown(later, options), inventoryMarkdown(inventory, options))
  assert.notEqual(inventoryMarkdown(later), inventoryMarkdown(inventory))
})

test('bars and backticks of patterns do not break tables and code', () => {
  const { sections, ...rest } = inventory
  const row = {
    component: 'a',
    loop: [],
    elsewhere: [],
    remaining: [{ tag: 'CPU/LOOP' as const, name: '/a|`/', count: 2 }],
  }
  const text = inventoryMarkdown({ ...rest, sections, matrix: [row] })
  assert.match(text, /\| `\/a\\\|'\/` ×2 \|/)
})
