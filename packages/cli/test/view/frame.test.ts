import assert from 'node:assert/strict'
import test from 'node:test'
import { Graph, job, type NodeState, type RunEvent } from '@heddle/core'
import { RunModel } from '../../src/model/run-model.ts'
import { frame } from '../../src/view/frame.ts'
import { textOf } from '../../src/text/line.ts'
import { asciiSymbols, unicodeSymbols } from '../../src/text/symbols.ts'
import { firstUi, type UiState } from '../../src/view/ui-state.ts'
import type { Viewport } from '../../src/view/viewport.ts'
import { graphOf } from '../support/graphs.ts'

const viewport: Viewport = {
  columns: 64,
  rows: 24,
  now: 12_400,
  remaining: undefined,
  waiting: [],
  gap: undefined,
  notice: undefined,
  keys: true,
  symbols: unicodeSymbols,
}

function show(model: RunModel, more: Partial<Viewport> = {}, ui: Partial<UiState> = {}): string[] {
  return frame(model, { ...firstUi, ...ui }, { ...viewport, ...more }).map((line) =>
    textOf(line).trimEnd(),
  )
}

const node = (name: string, state: NodeState, at: number, more: object = {}): RunEvent => ({
  type: 'node',
  at,
  name,
  state,
  attempt: 0,
  ...more,
})

/** A run half-way: one of everything. */
function halfWay(): RunModel {
  const model = new RunModel(
    graphOf(
      'fetch',
      'parse:fetch',
      'build',
      'lint',
      'docs:lint',
      'announce:docs',
      'upload',
      'test:build',
    ),
    { title: 'nightly.ts', retries: 2 },
  )
  for (const name of ['fetch', 'build', 'lint', 'upload']) model.apply(node(name, 'ready', 0))
  model.apply({ type: 'state', at: 0, state: 'running' })
  model.apply({ type: 'start', at: 0, nodes: 8 })
  for (const name of ['fetch', 'build', 'lint', 'upload']) model.apply(node(name, 'running', 0))
  model.apply(node('fetch', 'succeeded', 1_240))
  model.apply(node('parse', 'ready', 1_240))
  model.apply(node('lint', 'failed', 3_100, { error: new TypeError('12 problems') }))
  model.apply(node('docs', 'blocked', 3_100, { blockedBy: 'lint' }))
  model.apply(node('announce', 'blocked', 3_100, { blockedBy: 'lint' }))
  model.apply(
    node('upload', 'retrying', 9_000, {
      attempt: 1,
      delay: 6_400,
      error: new Error('connection reset'),
    }),
  )
  model.apply({ type: 'log', at: 10_000, name: 'build', attempt: 0, text: 'compiling\nlinking' })
  return model
}

test('a frame shows trouble, the past, the present and the future of the run', () => {
  const model = halfWay()
  const lines = show(model, {
    remaining: 65_000,
    waiting: [
      { row: model.get('parse')!, state: 'ready', text: 'ready; all 2 permits are in use' },
      { row: model.get('test')!, state: 'waiting', text: 'waits for "build" (running 12.4 s)' },
    ],
    gap: { ms: 212, blame: 'job "parse" at jobs.ts:12:5' },
  })
  assert.deepEqual(lines, [
    'nightly.ts  running                  12 s, about 1 min 05 s left',
    '━━━━━━━╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳──────────────────────────  1/8  12 %',
    '1 running · 1 failed · 2 blocked · 1 retrying · 1 done …',
    '✗ lint    TypeError: 12 problems · blocks 2 jobs · 3.1 s',
    '✓ fetch   1.2 s',
    '● build   loop   12.4 s',
    '↻ upload  attempt 2 of 3 in 3 s · connection reset',
    '◌ parse   ready; all 2 permits are in use',
    '○ test    waits for "build" (running 12.4 s)',
    '! loop blocked 212 ms: job "parse" at jobs.ts:12:5',
    'p pause  q cancel  f filter: all  a all  l log  ? help',
  ])
})

test('f: only active, or only failed nodes, with the nodes they block', () => {
  const rows = (filter: UiState['filter']): string[] => show(halfWay(), {}, { filter }).slice(3, -1)
  assert.deepEqual(rows('active'), [
    '● build   loop   12.4 s',
    '↻ upload  attempt 2 of 3 in 3 s · connection reset',
  ])
  assert.deepEqual(rows('failed'), [
    '✗ lint      TypeError: 12 problems · blocks 2 jobs · 3.1 s',
    '⊘ docs      blocked by "lint"',
    '⊘ announce  blocked by "lint"',
  ])
  const empty = new RunModel(graphOf('a'), { title: 't', retries: 0 })
  assert.deepEqual(show(empty, {}, { filter: 'failed' }).slice(3, -1), ['  nothing has failed'])
})

test('a: every job is shown in the order of the graph, a page at a time', () => {
  const model = halfWay()
  const all = show(model, {}, { view: 'all' }).slice(3, -1)
  assert.deepEqual(
    all.map((line) => line.split(' ')[1]),
    ['fetch', 'parse', 'build', 'lint', 'docs', 'announce', 'upload', 'test'],
  )
  const page = (offset: number): string[] =>
    show(model, { rows: 9 }, { view: 'all', offset }).slice(3, -1)
  assert.deepEqual(
    page(0).map((line) => line.trim().split(' ')[1]),
    ['fetch', 'parse', 'build', 'to'],
  )
  assert.equal(page(3).at(-1), '  4 to 6 of 8: up, down, page, home, end')
  assert.equal(page(99).at(-1), '  6 to 8 of 8: up, down, page, home, end')
})

test('l: log lines of jobs are shown', () => {
  assert.deepEqual(show(halfWay(), {}, { view: 'log' }).slice(3, -1), [
    'build: compiling',
    'build: linking',
  ])
  assert.deepEqual(show(halfWay(), { rows: 8 }, { view: 'log' }).slice(3, -1), [
    'build: compiling',
    'build: linking',
  ])
  assert.deepEqual(show(halfWay(), { rows: 6 }, { view: 'log' }).slice(3), [
    'build: compiling',
    'build: linking',
  ])
  const silent = new RunModel(graphOf('a'), { title: 't', retries: 0 })
  assert.deepEqual(show(silent, {}, { view: 'log' }).slice(3, -1), [
    '  no job has logged anything yet',
  ])
})

test('states of the run are distinguishable, and only working keys are listed', () => {
  const model = halfWay()
  model.apply({ type: 'state', at: 0, state: 'paused' })
  assert.match(show(model, { remaining: 5_000 })[0]!, /^nightly\.ts {2}PAUSED +12 s$/)
  assert.match(show(model).at(-1)!, /^r resume {2}q cancel/)
  model.apply({ type: 'state', at: 0, state: 'draining' })
  const lines = show(model, { notice: 'cancelling (Ctrl+C)' })
  assert.match(lines[0]!, /CANCELLING/)
  assert.equal(lines.at(-2), '! cancelling (Ctrl+C)')
  assert.match(lines.at(-1)!, /^q abort/)
})

test('a node that has become ready no longer shows its wait', () => {
  const model = halfWay()
  const text = 'waits for "build" (running 12.4 s)'
  const waiting = [{ row: model.get('test')!, state: 'waiting', text }] as const
  assert.match(show(model, { waiting }).join('\n'), /○ test +waits for "build"/)
  model.apply(node('test', 'ready', 12_000))
  assert.doesNotMatch(show(model, { waiting }).join('\n'), /waits for "build"/)
})

test('? explains the keys', () => {
  const help = show(halfWay(), { columns: 100 }, { help: true })
  for (const key of ['p r', 'q', 'Ctrl+C', 'Ctrl+Z', 'f', 'w a', 'l', '?']) {
    assert.ok(
      help.some((line) => line.startsWith(`${key} `)),
      key,
    )
  }
})

test('when not everything fits, the omitted rows are counted', () => {
  const names = Array.from({ length: 40 }, (_, i) => `n${i}`)
  const model = new RunModel(graphOf(...names), { title: 't', retries: 0 })
  for (const name of names.slice(0, 20)) model.apply(node(name, 'running', 0))
  for (const name of names.slice(20)) {
    model.apply(node(name, 'running', 0))
    model.apply(node(name, 'failed', 0, { error: new Error('no') }))
  }
  const lines = show(model, { rows: 15 })
  assert.ok(lines.includes('  17 more failed (f shows them)'), lines.join('\n'))
  const active = show(model, { rows: 15 }, { filter: 'active' })
  assert.ok(active.includes('  and 11 more active'), active.join('\n'))
  assert.equal(active.length, 14)
})

test('many nodes of one job are one line: how many run, how far the job is, the oldest', () => {
  const names = Array.from({ length: 200 }, (_, i) => `page ${i}`)
  const model = new RunModel(graphOf(...names), { title: 't', retries: 0 })
  model.apply({ type: 'start', at: 0, nodes: 200 })
  for (const name of names) model.apply(node(name, 'ready', 0))
  for (const name of names.slice(0, 113)) model.apply(node(name, 'running', 8_300))
  for (const name of names.slice(0, 96)) model.apply(node(name, 'succeeded', 8_400))
  model.apply(node('page 96', 'failed', 8_500, { error: new Error('no') }))
  const waiting = model
    .upcoming(4)
    .map((row) => ({ row, state: 'ready' as const, text: 'ready; all 16 permits are in use' }))
  const lines = show(model, { columns: 80, waiting })
  assert.match(lines[0]!, /12 s, 7\.8\/s$/)
  assert.ok(
    lines.includes('● nothing ×16  loop    4.1 s  96 of 200 done, 1 failed · the longest: page 97'),
    lines.join('\n'),
  )
  assert.ok(lines.includes('◌ nothing ×87  ready; all 16 permits are in use'), lines.join('\n'))
})

test('in a large graph the bar shows the few failed, skipped or remaining nodes, in any width', () => {
  const names = Array.from({ length: 1_000 }, (_, i) => `n${i}`)
  const model = new RunModel(graphOf(...names), { title: 't', retries: 0 })
  for (const name of names.slice(4)) {
    model.apply(node(name, 'running', 0))
    model.apply(node(name, 'succeeded', 1))
  }
  model.apply(node('n0', 'failed', 1))
  model.apply(node('n1', 'skipped', 1))
  for (const columns of [200, 80, 40, 24]) {
    const [, bar = ''] = show(model, { columns })
    assert.match(bar, /^━+╳╌─ +996\/1,000 +99 %$/, String(columns))
    assert.ok(bar.length <= columns)
  }
})

test('the bar distinguishes reused, done, failed, skipped and remaining without colours', () => {
  const names = Array.from({ length: 10 }, (_, i) => `n${i}`)
  const model = new RunModel(graphOf(...names), { title: 't', retries: 0 })
  for (const name of names.slice(0, 2)) model.apply(node(name, 'succeeded', 0))
  model.apply({ type: 'start', at: 0, nodes: 10 })
  for (const name of names.slice(2, 6)) model.apply(node(name, 'running', 0))
  for (const name of names.slice(2, 5)) model.apply(node(name, 'succeeded', 0))
  model.apply(node('n5', 'failed', 0, { error: new Error('no') }))
  for (const name of names.slice(6, 8)) model.apply(node(name, 'skipped', 0))
  const [, bar, counts] = show(model, { columns: 32 })
  assert.equal(bar, '════━━━━━━╳╳╌╌╌╌────  5/10  50 %')
  assert.equal(counts, '1 failed · 2 skipped · 5 done …')
})

test('a terminal of few rows keeps the bar and the counts', () => {
  assert.deepEqual(
    show(halfWay(), { rows: 3 }).map((line) => line.slice(-5)),
    [' 12 %', 'one …'],
  )
  assert.deepEqual(show(halfWay(), { rows: 1 }), [])
})

test('without Unicode every character is ASCII', () => {
  const text = show(halfWay(), { symbols: asciiSymbols, gap: { ms: 60, blame: 'x' } }).join('\n')
  assert.match(text, /^[\u0020-\u007e\n]*$/)
})

test('how far the work is in its own words stands beside the state', () => {
  const [title] = show(halfWay(), { progress: '2 of 5 packages' })
  assert.match(title!, /^nightly\.ts {2}running {2}2 of 5 packages/)
})

test('40 columns: the name of the signal and the cause of a failure stay, the time goes first', () => {
  const model = new RunModel(graphOf('approve it', 'strict', 'night'), { title: 't', retries: 0 })
  for (const name of ['approve it', 'strict', 'night']) model.apply(node(name, 'running', 0))
  const error = new Error('Element 33 of "strict" failed: page 33 is gone.')
  model.apply(node('strict', 'failed', 900, { error }))
  for (const name of ['approve it', 'night']) model.apply(node(name, 'suspended', 100))
  model.get('approve it')!.waitsFor = 'waits for the signal "approval"'
  model.get('night')!.waitsFor = 'sleeps until 2026-11-17 22:28:03'
  const lines = show(model, { columns: 40 }).filter((line) => /^[◐✗]/.test(line))
  assert.deepEqual(lines, [
    '✗ strict      page 33 is gone. · 900 ms',
    '◐ approve it  signal "approval"  12.4 s',
    '◐ night       until 2026-11-17 22:28:03',
  ])
  const [, approve] = show(model, { columns: 26 }).filter((line) => /^[◐✗]/.test(line))
  assert.equal(approve, '◐ approve it  "approval"')
  const [, , night] = show(model, { columns: 34 }).filter((line) => /^[◐✗]/.test(line))
  assert.equal(night, '◐ night       until 11-17 22:28')
})

test('every ready node has a row while there is room', () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  const graph = new Graph()
  for (const name of names)
    graph.add(
      name,
      job({ name }, () => undefined),
    )
  const model = new RunModel(graph, { title: 't', retries: 0 })
  for (const name of names) model.apply(node(name, 'ready', 0))
  const waiting = names.map((name) => ({
    row: model.get(name)!,
    state: 'ready' as const,
    text: 'ready',
  }))
  const rowsOf = (rows: number): number =>
    show(model, { rows, waiting }).filter((line) => /^◌ [a-f] {2}ready/.test(line)).length
  assert.equal(rowsOf(24), 6)
  assert.equal(rowsOf(9), 4)
})

test('a map at work says how many of its elements run and how many wait', () => {
  const model = new RunModel(graphOf('pages'), { title: 't', retries: 0 })
  for (const state of ['running', 'suspended'] as const) model.apply(node('pages', state, 0))
  for (const [i, state] of (['running', 'running', 'ready', 'suspended'] as const).entries()) {
    model.apply({ type: 'part', at: 0, name: 'pages', path: `[${i}]`, state, attempt: 0 })
  }
  const fraction = { fraction: 0.29, text: '58 of 200, 1 failed, 29/s' }
  model.apply({ type: 'progress', at: 0, name: 'pages', attempt: 0, ...fraction })
  const lines = show(model, { columns: 100 })
  assert.match(lines[2]!, /^1 running/)
  assert.equal(
    lines[3],
    '● pages  loop   12.4 s  29 %: 58 of 200, 1 failed, 29/s · 2 running, 1 waiting, 1 suspended',
  )
})

test('while everything sleeps a line says how to end the process without cancelling the run', () => {
  const model = new RunModel(graphOf('nap', 'later:nap'), { title: 't', retries: 0 })
  model.apply({ type: 'state', at: 0, state: 'running' })
  for (const state of ['running', 'suspended'] as const) model.apply(node('nap', state, 0))
  const hint = (more: Partial<Viewport>): string[] =>
    show(model, { columns: 90, ...more }).filter((line) => line.includes('Ctrl+'))
  assert.deepEqual(hint({ canLeave: true }), [
    'all that is left sleeps or waits for signals: Ctrl+\\ ends the process, --resume continues',
  ])
  assert.deepEqual(hint({ canLeave: true, columns: 40 }), ['all is asleep: Ctrl+\\ leaves the run'])
  assert.deepEqual(hint({ canLeave: false }), [])
  model.apply(node('nap', 'running', 10))
  assert.deepEqual(hint({ canLeave: true }), [])
})

test('a long title gives way to the state of the run and to the time', () => {
  const title = `/home/ada/${'projects/'.repeat(8)}shop/nightly.ts`
  const model = new RunModel(graphOf('a'), { title, retries: 0 })
  assert.match(show(model, { columns: 60 })[0]!, /^…\/.*\/shop\/nightly\.ts {2}starting$/)
  assert.match(show(model, { columns: 24 })[0]!, /nightly\.ts {2}starting$/)
})

test('40 columns: the rate, the percentage and the name of the blocking job are complete', () => {
  const narrow = { columns: 40, rows: 10, now: 2_000, remaining: 64_000 }
  const model = new RunModel(
    graphOf(...Array.from({ length: 30 }, (_, i) => `n${i}`), 'render the cover', 'docs'),
    { title: 'catalogue.ts', retries: 0 },
  )
  model.apply({ type: 'state', at: 0, state: 'running' })
  model.apply({ type: 'start', at: 0, nodes: 32 })
  for (let i = 0; i < 30; i++) {
    model.apply(node(`n${i}`, 'running', 0))
    model.apply(node(`n${i}`, 'succeeded', 1_000))
  }
  model.apply(node('render the cover', 'running', 0))
  const name = 'render the cover'
  const progress = { type: 'progress', at: 1_000, name, attempt: 0, fraction: 0.02 } as const
  model.apply({ ...progress, text: 'frame 12 of 600' })
  model.apply(node('docs', 'blocked', 1_000, { blockedBy: 'lint-20261117-093012-k3f9q2' }))
  const lines = show(model, narrow)
  assert.match(lines[0]!, /running +2 s, 15\/s$/)
  assert.ok(lines.includes('● render the cover   2.0 s  2 %'), lines.join('\n'))
  const failed = show(model, narrow, { filter: 'failed' })
  assert.ok(failed.includes('⊘ docs  by "lint-20261117-093012-k3f9q2"'), failed.join('\n'))
})

test('a suspended job keeps the name of its signal where the whole text does not fit', () => {
  const name = 'wait for the approval of the board'
  const model = new RunModel(graphOf(name), { title: 'x.ts', retries: 0 })
  model.apply(node(name, 'running', 0))
  model.apply(node(name, 'suspended', 0))
  model.get(name)!.waitsFor = 'waits for the signal "approval"'
  assert.ok(show(model, { columns: 80 }).some((line) => line.endsWith('  signal "approval"')))
  assert.ok(show(model, { columns: 100 }).some((line) => line.endsWith('the signal "approval"')))
})

test('jobs with many running nodes come first among the active ones', () => {
  const graph = new Graph()
  const [one, many] = ['cover', 'fetch'].map((name) => job({ name }, () => undefined))
  graph.add('cover', one!)
  for (let page = 0; page < 16; page++) graph.add(`page ${page}`, many!)
  const model = new RunModel(graph, { title: 'x.ts', retries: 0 })
  for (const { name } of graph.nodes()) model.apply(node(name, 'running', 0))
  const lines = show(model)
  const [group, single] = ['● fetch ×16', '● cover'].map((start) =>
    lines.findIndex((line) => line.startsWith(start)),
  )
  assert.ok(group! >= 0 && group! < single!, lines.join('\n'))
})

test('reused jobs come before finished ones, and stopped jobs are not called failed', () => {
  const model = new RunModel(graphOf('a', 'b', 'c', 'd', 'e', 'f'), { title: 'x.ts', retries: 0 })
  model.apply(node('a', 'succeeded', 0))
  model.apply({ type: 'start', at: 0, nodes: 6 })
  for (const name of ['b', 'c', 'd', 'e', 'f']) {
    model.apply(node(name, 'running', 0))
    model.apply(node(name, 'cancelled', 1_000))
  }
  const lines = show(model, { rows: 9 })
  assert.ok(lines.includes('5 stopped · 1 reused · 1 done'), lines.join('\n'))
  assert.ok(
    lines.some((line) => /^ {2}\d more failed or stopped: press f$/.test(line)),
    lines.join('\n'),
  )
})
