import assert from 'node:assert/strict'
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, before, test } from 'node:test'
import { Graph, final, job, startRun } from '@heddle/core'
import { openJournal } from '@heddle/core/lowlevel'
import { Program, fixture, runProgram } from '../support/program.ts'
import { Stage } from '../support/stage.ts'

let folder: string
/** Two runs of one journal: the older one succeeded, the newer one failed. */
const ids: string[] = []

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'heddle-runs-'))
  await using journal = await openJournal(`sqlite:${path.join(folder, 'runs.db')}`)
  for (const fails of [false, true]) {
    const graph = new Graph()
    graph.add(
      'fetch',
      job({ name: 'fetch' }, (_: undefined, ctx) => {
        ctx.log('three pages')
        return { pages: 3, ids: new Set([1n]) }
      }),
    )
    const flaky = job({ name: 'flaky', retries: 1 }, (_: undefined, { attempt }) => {
      if (attempt === 0) throw new Error('only once')
    })
    graph.add('flaky', flaky, { after: ['fetch'] })
    const check = job({ name: 'check' }, () => {
      if (fails) throw final(new TypeError('12 problems'))
    })
    graph.add('check', check, { after: ['fetch'] })
    graph.add(
      'report',
      job({ name: 'report' }, () => 'fine'),
      { after: ['check', 'flaky'] },
    )
    const run = await startRun(graph, { journal, title: 'nightly', retryBaseDelay: 1 })
    await run.result
    ids.push(run.id!)
  }
})

after(() => rm(folder, { recursive: true, force: true }))

type Ended = Awaited<ReturnType<typeof runProgram>>

function runs(...args: string[]): Promise<Ended> {
  return runProgram(['runs', ...args, '--journal', 'sqlite:runs.db'], { cwd: folder })
}

function result(program: Ended): Record<string, unknown> {
  assert.equal(program.lines.length, 1, 'one object, nothing else')
  return program.objects[0]!
}

test('list: newest first, also as JSON, also by state', async () => {
  const [text, json, failed, none] = await Promise.all([
    runs(),
    runs('list', '--json', '--limit', '1'),
    runs('--state', 'failed', '--json'),
    runs('list', '--state', 'interrupted'),
  ])
  assert.equal(text.code, 0)
  assert.match(
    text.lines[1]!,
    new RegExp(`^${ids[1]} +nightly +✗ failed .* 1 failed, 1 blocked, 2 done$`),
  )
  assert.match(text.lines[2]!, new RegExp(`^${ids[0]} +nightly +✓ succeeded .* 4 done$`))
  // oxlint-disable-next-line no-control-regex -- no colours without a terminal
  assert.doesNotMatch(text.stdout, /\u001b/)
  const { ok, runs: listed } = result(json) as {
    ok: boolean
    runs: { id: string; outcome: string }[]
  }
  assert.deepEqual([ok, listed.map(({ id }) => id)], [true, [ids[1]]])
  assert.deepEqual((result(failed)['runs'] as unknown[]).length, 1)
  assert.equal(none.stdout, 'There is no run that is interrupted in sqlite:runs.db.\n')
})

test('show: a run by a part of its id, one node, its log, its value', async () => {
  const [text, json, node, value, past] = await Promise.all([
    runs('show', ids[1]!.slice(-6)),
    runs('show', 'last~1', '--json', '--logs'),
    runs('show', 'last', '--node', 'flaky', '--logs'),
    runs('show', 'last', '--value', 'fetch'),
    runs('show', 'last', '--at', '+0', '--history'),
  ])
  assert.match(text.stdout, /✗ check +loop +1 .* failed\n/)
  assert.match(text.stdout, /⊘ report .* blocked by "check"\n/)
  assert.match(text.stdout, /✗ check\n {6}TypeError: 12 problems\n/)
  const shown = result(json) as {
    ok: boolean
    outcome: string
    log: { text: string }[]
    nodes: { name: string; attempts: unknown[] }[]
  }
  assert.deepEqual([shown.ok, shown.outcome], [true, 'succeeded'])
  assert.deepEqual(
    shown.log.map((line) => line.text),
    ['three pages'],
  )
  assert.deepEqual(
    shown.nodes.map(({ name, attempts }) => [name, attempts.length]),
    [
      ['fetch', 1],
      ['flaky', 2],
      ['check', 1],
      ['report', 1],
    ],
  )
  assert.match(node.stdout, /ATTEMPT .*\n {2}1 .* failed\n {2}2 .* succeeded\n/)
  assert.deepEqual(JSON.parse(value.stdout), { pages: 3, ids: { $set: [{ $bigint: '1' }] } })
  assert.match(past.stdout, /as of +row \d+, /)
})

test('timeline is as wide as requested, and has its rows as JSON', async () => {
  const [text, json] = await Promise.all([
    runs('timeline', 'last', '--width', '50'),
    runs('timeline', 'last', '--json'),
  ])
  assert.equal(text.code, 0)
  assert.ok(text.lines.every((line) => line.length <= 50))
  assert.match(text.stdout, /1 job never ran: report/)
  const { rows, neverRan } = result(json) as {
    rows: { node: string; spans: { kind: string }[] }[]
    neverRan: string[]
  }
  assert.deepEqual(rows.map(({ node }) => node).toSorted(), ['check', 'fetch', 'flaky'])
  assert.ok(rows.every(({ spans }) => spans.some(({ kind }) => kind === 'run')))
  assert.deepEqual(neverRan, ['report'])
})

test('compare: 0, unless --fail-on-slower finds the second run worse', async () => {
  const [text, worse, better, json] = await Promise.all([
    runs('compare', 'last~1', 'last'),
    runs('compare', 'last~1', 'last', '--fail-on-slower', '100000'),
    runs('compare', 'last', 'last', '--fail-on-slower', '0'),
    runs('compare', ids[0]!, ids[1]!, '--json', '--fail-on-slower', '100000'),
  ])
  assert.deepEqual([text.code, worse.code, better.code, json.code], [0, 1, 0, 1])
  assert.match(
    text.stdout,
    /OUTCOME\ncheck: succeeded in \d+ ms → failed in \d+ ms\nreport: succeeded in \d+ ms → blocked\n/,
  )
  const { ok, a, outcomes } = result(json) as {
    ok: boolean
    a: { run: string }
    outcomes: unknown[]
  }
  assert.deepEqual([ok, a.run, outcomes.length], [false, ids[0], 2])
})

test('2 and the repair for a question that cannot be answered', async () => {
  await writeFile(path.join(folder, 'noise.db'), 'this is no database'.repeat(50))
  const cases: [args: string[], error: RegExp][] = [
    [
      ['show', 'nobody'],
      /There is no run "nobody" in .*\n +List the runs with `heddle runs`, and name one by its id\. \[HDL_UNKNOWN_RUN\]/,
    ],
    [['show', `${ids[1]!.slice(0, -1)}_`], new RegExp(`Did you mean "${ids[1]}"\\?`)],
    [['show', ids[0]!.slice(0, 3)], /can mean several runs .*\n.* \[HDL_AMBIGUOUS_RUN\]/],
    [['show', 'last', '--node', 'fetsh'], /There is no node "fetsh"\. Did you mean "fetch"\?/],
    [['show', 'last', '--value', 'check'], /"check" has no result: failed/],
    [['show', 'last', '--at', 'noon'], /option '--at <point>' argument 'noon' is invalid/],
    [['show'], /missing required argument 'run'/],
    [['timeline', 'last', '--width', '10'], /argument '10' is invalid/],
    [['timeline', 'last', '--width', 'Infinity'], /Expected at most 1000/],
    [['compare', 'last'], /missing required argument 'b'/],
    [['compare', 'last', 'last', '--fail-on-slower', 'much'], /Expected a number of percent/],
    [['--state', 'tired'], /Allowed choices are succeeded, failed/],
    [['shwo', 'last'], /unknown command 'shwo'\n\(Did you mean show\?\)/],
  ]
  const ended = await Promise.all(cases.map(([args]) => runs(...args)))
  for (const [i, [args, error]] of cases.entries()) {
    assert.equal(ended[i]!.code, 2, args.join(' '))
    assert.match(ended[i]!.stderr, error)
    assert.equal(ended[i]!.stdout, '', args.join(' '))
  }
  const elsewhere = await runProgram(['runs', '--json'], { cwd: folder })
  assert.equal(elsewhere.code, 2)
  assert.match(
    elsewhere.stderr,
    /There is no journal \.heddle\/runs\.db: no run was recorded there\./,
  )
  assert.deepEqual((result(elsewhere)['error'] as { code: string }).code, 'HDL_NO_JOURNAL')
  assert.ok(!(await readdir(folder)).includes('.heddle'), 'looking makes no folder')
  const damaged = await runProgram(['runs', '--journal', 'sqlite:noise.db'], { cwd: folder })
  assert.equal(damaged.code, 2)
  assert.match(damaged.stderr, /HDL_JOURNAL_DAMAGED/)
})

test('every subcommand has help with an example and its exit codes', async () => {
  const commands = [[], ['list'], ['show'], ['timeline'], ['compare'], ['export']]
  const ended = await Promise.all(commands.map((command) => runs(...command, '--help')))
  for (const [i, { code, stdout }] of ended.entries()) {
    assert.equal(code, 0)
    assert.match(stdout, /\nExamples?:\n {2}\$ heddle runs/, commands[i]!.join(' '))
    assert.match(stdout, /\nExit codes:\n {2}0 .*\n(.*\n)* {2}2 /)
  }
})

test('a run that is being written, then killed, then resumed: read at every point, disturbed at none', async () => {
  await using stage = await Stage.open()
  const options = { cwd: stage.folder, env: stage.env }
  const look = (...args: string[]): Promise<Ended> => runProgram(['runs', ...args], options)
  const staged = ['run', fixture('staged.ts'), '--concurrency', '3']
  using program = new Program([...staged, '--', 'a', 'b', 'c:a', 'd'], options)
  await stage.started('b')
  await stage.finish('a')
  await stage.started('c')
  // A start is written without waiting for it, a success is: once it is reported, all before it is on disk.
  await stage.finish('d')
  await program.printed(/ done +d in /)

  const [live, picture] = await Promise.all([look('list', '--json'), look('timeline', 'last')])
  const [running] = result(live)['runs'] as { id: string; state: string; counts: unknown }[]
  assert.deepEqual([running!.state, running!.counts], ['running', { succeeded: 2, running: 2 }])
  assert.equal(picture.code, 0)
  assert.match(picture.stdout, /▶/)

  program.process.kill('SIGKILL')
  assert.equal(await program.ended(), 'SIGKILL')
  await stage.left('b')
  await stage.left('c')
  const heddle = path.join(stage.folder, '.heddle')
  const stored = async (): Promise<string[]> =>
    Promise.all(
      ['runs.db', 'runs.db-wal'].map((name) => readFile(path.join(heddle, name), 'latin1')),
    )
  const untouched = await stored()
  const [list, show, exported] = await Promise.all([
    look(),
    look('show', 'last'),
    look('export', 'last'),
  ])
  assert.match(
    list.stdout,
    /! interrupted .* 2 running, 2 done\n +resume with: heddle run .*staged\.ts --concurrency 3 --resume \S+ -- a b c:a d\n/,
  )
  assert.match(show.stdout, /cut off after /)
  assert.match(show.stdout, /! b +loop +1 .* interrupted\n/)
  assert.match(exported.stdout, /cutAt: [\d.]+,\n/)
  assert.deepEqual(await stored(), untouched, 'a reader changes nothing')

  // The command that the list gives is one that works.
  const [, command] = /resume with: heddle (.*)\n/.exec(list.stdout)!
  using resumed = new Program(command!.split(' '), options)
  await stage.finish('b')
  await stage.finish('c')
  assert.equal(await resumed.ended(), 0)
  const [text, once] = await Promise.all([look('show', 'last'), look('--json')])
  assert.match(text.stdout, /took +\S+ m?s, in 2 processes one after the other over /)
  assert.match(text.stdout, /✓ b +loop +2 /)
  const [finished] = result(once)['runs'] as { id: string; outcome: string }[]
  assert.deepEqual([finished!.id, finished!.outcome], [running!.id, 'succeeded'])
})
