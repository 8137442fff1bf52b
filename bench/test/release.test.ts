import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { renderTable } from '../harness/table.ts'
import type { Observation, RowResult } from '../harness/row.ts'
import { broken, lettersOf, missingTags, untrue, wrongs } from '../suites/release/case/judge.ts'
import { runProgram } from '../suites/release/case/run-program.ts'
import { faults, uploadTime, workspace } from '../suites/release/conditions.ts'
import { modelRelease, type ReleaseModel } from '../suites/release/makespan/model.ts'
import { stageGraph } from '../suites/release/makespan/stage-graph.ts'
import {
  byLevels,
  byStages,
  byStagesInOnePool,
  freeingSlots,
  holdingSlots,
  withoutLimits,
} from '../suites/release/makespan/strategies.ts'
import { suite } from '../suites/release/suite.ts'
import { changesets } from '../suites/release/tools/changesets.ts'
import { heddle } from '../suites/release/tools/heddle.ts'
import { lerna } from '../suites/release/tools/lerna.ts'
import { pnpm } from '../suites/release/tools/pnpm.ts'
import { takeOwnLock } from './own-lock.ts'
import { tools } from '../suites/release/tools/tools.ts'

takeOwnLock()

test('a row of the suite: ours against a real registry that answers 409 once, and once more', async () => {
  const main = fileURLToPath(new URL('../main.ts', import.meta.url))
  const only = ['--only', 'fault: 409 once', '--against', 'nobody']
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--conditions=heddle-source',
    main,
    'release',
    '--json',
    '--offline',
    ...only,
  ])
  const rows = JSON.parse(stdout) as RowResult[]
  assert.equal(rows.length, 1)
  const { ours, loopGapMs, rssMb, observed } = rows[0]!
  assert.deepEqual([ours, loopGapMs, rssMb], [5, null, null])
  const { seconds: _, rerun, ...seen } = observed!['heddle']!
  const letters = Object.keys(workspace)
  assert.deepEqual(seen, {
    command: 'heddle release publish --visibility 10s',
    exit: 0,
    published: letters,
    broken: [],
    reported: { published: letters, already: [], failed: [], notDone: [] },
    untrue: [],
    treeClean: true,
    changedFiles: 0,
    message: '',
    uploadsOfB: { sent: 2, accepted: 1 },
    doubleUploads: 0,
    isRight: true,
    wrongs: [],
  })
  const { exit, published, missingTags: missing } = rerun as Observation
  assert.deepEqual([exit, published, missing], [0, letters, []])
})

// Outputs of the pinned versions, shortened.

test('pnpm: the packages it published, those that failed, and why', () => {
  const stdout = [
    '📦 @s/a@1.0.0 → http://127.0.0.1:4873/',
    '✅ Published package @s/a@1.0.0',
    '📦 @s/b@1.0.0 → http://127.0.0.1:4873/',
  ].join('\n')
  const stderr = [
    'Error: ERR_PNPM_FAILED_TO_PUBLISH',
    '',
    '  × Failed to publish package @s/b@1.0.0 (status 500 Internal Server Error):',
    '  │ {"error":"injected 500"}',
    '',
  ].join('\n')
  const { published, failed, message } = pnpm.read({ stdout, stderr })
  assert.deepEqual([published, failed], [['@s/a'], ['@s/b']])
  assert.equal(
    message,
    'Failed to publish package @s/b@1.0.0 (status 500 Internal Server Error): {"error":"injected 500"}',
  )
})

test('changesets: the lists of published and failed packages, without control characters', () => {
  const stdout = [
    'These packages will be published as they were not found in the registry:',
    '@s/a@1.0.0',
    '@s/b@1.0.0',
    '\u001B[1G\u001B[J◇  Successfully published:',
    '@s/a@1.0.0',
    '\u001B[?25h',
    'Some packages failed to publish:',
    '@s/b@1.0.0',
    '└ ERR_PNPM_FAILED_TO_PUBLISH: status 409 Conflict',
    '@s/e@1.0.0',
    '└ something else',
    '◇  Created git tags.',
  ].join('\n')
  const { published, failed, message } = changesets.read({ stdout, stderr: '' })
  assert.deepEqual([published, failed], [['@s/a'], ['@s/b', '@s/e']])
  assert.equal(message, 'ERR_PNPM_FAILED_TO_PUBLISH: status 409 Conflict')
})

test('lerna: a package that it takes for published is not published by it', () => {
  const stderr = [
    'lerna WARN publish Package is already published: @s/b@1.0.0',
    'lerna success published @s/b 1.0.0',
    'lerna success published @s/c 1.0.0',
    'lerna success published 2 packages',
  ].join('\n')
  const { published, already, message } = lerna.read({ stdout: '', stderr })
  assert.deepEqual([published, already, message], [['@s/c'], ['@s/b'], ''])
  const refused = lerna.read({ stdout: '', stderr: 'lerna ERR! EUNCOMMIT Working tree' })
  assert.equal(refused.message, 'EUNCOMMIT Working tree')
})

test('heddle: the last line is the report; none when it was killed', () => {
  const packages = [
    { name: '@s/a', outcome: 'published', problems: [] },
    { name: '@s/b', outcome: 'failed', problems: [{ message: 'answered 500' }] },
    { name: '@s/c', outcome: 'blocked', problems: [] },
  ]
  const stdout = `{"type":"node"}\n${JSON.stringify({ ok: false, packages })}\n`
  assert.deepEqual(heddle.read({ stdout, stderr: '' }), {
    published: ['@s/a'],
    already: [],
    failed: ['@s/b'],
    notDone: ['@s/c'],
    message: 'answered 500',
  })
  assert.equal(heddle.read({ stdout: '{"type":', stderr: 'killed\n' }).message, 'killed')
})

test('the report of a tool is compared with the registry', () => {
  const says = { published: ['a', 'c'], already: ['b'], failed: ['d'] }
  assert.deepEqual(untrue(says, ['a', 'c', 'd']), ['b', 'd'])
  assert.deepEqual(untrue({ published: ['a'], already: [], failed: ['b'] }, ['a']), [])
})

test('a package is broken when anything below it is missing', () => {
  assert.deepEqual(broken(['a', 'c', 'd', 'e']), ['c'])
  assert.deepEqual(broken(['c', 'e']), ['c', 'e'])
  assert.deepEqual(broken(Object.keys(workspace)), [])
})

test('a tool that makes no tags misses none', () => {
  const nameOf = (letter: string): string => `@s/${letter}@1.0.0`
  assert.equal(missingTags(['a'], [], nameOf), null)
  assert.deepEqual(missingTags(['a', 'b'], ['@s/a@1.0.0'], nameOf), ['b'])
})

test('names lose the scope of their case, in messages too', () => {
  const reported = { published: ['@s/b', '@s/a'], already: [], failed: [], notDone: [] }
  const { published, message } = lettersOf({ ...reported, message: 'not @case-1f/b@1.0.0' })
  assert.deepEqual([published, message], [['a', 'b'], 'not b@1.0.0'])
})

const script = (text: string) => ({ file: process.execPath, args: ['--eval', text] })
const limits = { cwd: os.tmpdir(), env: process.env, limit: 60_000 }

test('a program: its exit code, both outputs; a signal by its name', async () => {
  const fine = await runProgram(
    script('console.log("out"); console.error("err"); process.exitCode = 3'),
    limits,
  )
  assert.deepEqual([fine.exit, fine.stdout, fine.stderr], [3, 'out\n', 'err\n'])
  const interruption = Promise.resolve()
  const stopped = await runProgram(script('setInterval(() => {}, 1000)'), {
    ...limits,
    interruption,
  })
  assert.equal(stopped.exit, 'SIGINT')
})

test('a program that does not end is killed, with its child processes', async () => {
  const child =
    'require("child_process").spawn(process.execPath, ["--eval", "setInterval(() => {}, 1e3)"]'
  const text = `${child}, { stdio: "inherit" }); setInterval(() => {}, 1000)`
  const { exit } = await runProgram(script(text), { ...limits, limit: 500 })
  assert.equal(exit, 'none within 0.5 s')
})

test('a process that leaves the group and keeps the output open is not waited for', async () => {
  const left =
    'const { pid } = require("child_process").spawn(process.execPath, ["--eval", "setInterval(() => {}, 1e3)"]'
  const text = `${left}, { stdio: "inherit", detached: true }); console.log(pid); process.exit(0)`
  const { exit, stdout } = await runProgram(script(text), limits)
  assert.equal(exit, 0)
  process.kill(Number(stdout), 'SIGKILL')
})

test('every fault has a row with all tools; only peers need to be installed', () => {
  const rows = suite.rows.filter(({ name }) => name.startsWith('fault: '))
  assert.equal(rows.length, faults.length)
  for (const { entrants } of rows) {
    const names = ['heddle', 'lerna', 'changesets', 'pnpm', 'nx', 'release-it']
    assert.deepEqual(Object.keys(entrants), names)
    for (const { role, needs = [] } of Object.values(entrants)) {
      assert.equal(needs.includes('peers'), role === 'peer')
    }
  }
})

test('observations form a table with a column for each tool, long texts below', () => {
  const row = {
    name: 'fault: x',
    ours: 5,
    unit: 'packages',
    peers: { lerna: 4 },
    ratio: 1.25,
    better: 'more',
    variants: {},
    peerLoopGapMs: {},
    peerRssMb: {},
    peerBuildMs: {},
    loopGapMs: null,
    loopGapWorstMs: null,
    loopGapOwnMs: null,
    loopGapOwnWorstMs: null,
    collectorMs: null,
    rssMb: null,
    size: 5,
    notes: [],
    machine: { atStart: { load: [], cores: 2 }, atEnd: { load: [], cores: 2 } },
    observed: {
      heddle: { published: ['a', 'b'], rerun: { treeClean: true, missingTags: [] } },
      lerna: {
        published: ['a'],
        rerun: {
          treeClean: false,
          missingTags: null,
          message: 'a message of more than a few words',
        },
      },
    },
  } satisfies RowResult
  const lines = renderTable([row]).split('\n')
  const cells = (label: string): string[] =>
    lines
      .find((line) => line.trim().startsWith(label))!
      .trim()
      .split(/ {2,}/)
  assert.deepEqual(cells('published'), ['published', 'a b', 'a'])
  assert.deepEqual(cells('rerun treeClean'), ['rerun treeClean', 'yes', 'no'])
  assert.deepEqual(cells('rerun missingTags'), ['rerun missingTags', '-', 'n/a'])
  assert.ok(lines.includes('  lerna, rerun message: a message of more than a few words'))
})

test('a model is the same for each entrant and another for each seed', () => {
  assert.deepEqual(modelRelease(40, 10_000, 7), modelRelease(40, 10_000, 7))
  assert.notDeepEqual(modelRelease(40, 10_000, 7), modelRelease(40, 10_000, 8))
  const { packages } = modelRelease(400, 10_000, 1)
  const level = new Map<string, number>()
  for (const each of packages) {
    const below = each.after.map((name) => level.get(name)!)
    assert.equal(each.level, Math.max(-1, ...below) + 1)
    level.set(each.name, each.level)
  }
  const sorted = packages.map(({ build }) => build).toSorted((a, b) => a - b)
  assert.ok(sorted[200]! > 8_000 && sorted[200]! < 12_000, `median ${sorted[200]}`)
})

/** p0 ◀─ p1 and p2 alone: times that can be added up by hand. */
const three: ReleaseModel = {
  seed: 1,
  packages: [
    { name: 'p0', after: [], level: 0, build: 1_000, visibility: 0 },
    { name: 'p1', after: ['p0'], level: 1, build: 4_000, visibility: 0 },
    { name: 'p2', after: [], level: 0, build: 9_000, visibility: 0 },
  ],
}

test('a chain and a slow package: barriers wait for it, others do not, stages build ahead', async () => {
  assert.equal(await byLevels(three), 9_000 + uploadTime + 4_000 + uploadTime)
  assert.equal(await holdingSlots(three), 9_000 + uploadTime)
  assert.equal(await freeingSlots(three), 9_000 + uploadTime)
  await inFolder(async (folder) => {
    const graph = await stageGraph(three, folder)
    assert.equal(await byStages(three, graph), 9_000 + uploadTime)
    const chain = { ...three, packages: three.packages.slice(0, 2) }
    const chained = await stageGraph(chain, folder)
    assert.equal(await byStages(chain, chained), 1_000 + 4_000 + uploadTime)
    assert.equal(await holdingSlots(chain), 1_000 + uploadTime + 4_000 + uploadTime)
  })
})

test('six packages that take a minute to show: only a tool that keeps a slot for each makes the sixth wait', async () => {
  const model: ReleaseModel = {
    seed: 1,
    packages: Array.from({ length: 6 }, (_, index) => ({
      name: `p${index}`,
      after: [],
      level: 0,
      build: 0,
      visibility: 60_000,
    })),
  }
  assert.ok((await holdingSlots(model)) > 120_000)
  assert.ok((await freeingSlots(model)) < 100_000)
  await inFolder(async (folder) => {
    const graph = await stageGraph(model, folder)
    assert.ok((await byStages(model, graph)) < 100_000)
    assert.ok((await byStagesInOnePool(model, graph)) < 100_000)
  })
})

test('nothing is faster than no limits at all', async () => {
  assert.equal(withoutLimits(three), 9_000 + uploadTime)
  const model = modelRelease(20, 10_000, 3)
  const least = withoutLimits(model)
  assert.ok(least > 0)
  for (const play of [byLevels, holdingSlots, freeingSlots]) {
    assert.ok((await play(model)) >= least, play.name)
  }
})

test('the graph of stages is the one that a release runs', async () => {
  await inFolder(async (folder) => {
    const graph = await stageGraph(three, folder)
    assert.deepEqual(graph.get('p1 visible')?.job.needs, { loop: 0 })
    assert.deepEqual(graph.get('p1 upload')?.job.needs, { upload: 1 })
    assert.ok(graph.get('p1 begin')?.after.includes('p0 visible'))
    const accepted = await stageGraph(three, folder, { gate: 'accepted' })
    assert.ok(accepted.get('p1 begin')?.after.includes('p0 upload'))
  })
})

async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-bench-test-'))
  try {
    await use(folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

test('a run is right when nothing is left for the user to repair', () => {
  const letters = Object.keys(workspace)
  const run = { exit: 0, published: letters, broken: [], untrue: [], treeClean: true }
  const whole = { first: run, second: run, missingTags: [], doubleUploads: 0, isDirty: false }
  assert.deepEqual(wrongs(whole), [])
  const half = { ...run, published: ['a'] }
  assert.deepEqual(wrongs({ ...whole, first: half }), ['first run: exit code 0, not all is there'])
  assert.deepEqual(wrongs({ ...whole, first: { ...half, exit: 1 } }), [])
  assert.deepEqual(wrongs({ ...whole, second: { ...run, exit: 1 } }), [
    'all is there and the second run fails',
  ])
  assert.deepEqual(wrongs({ ...whole, missingTags: ['b'], doubleUploads: 1 }), [
    'no tag for b',
    '1 double uploads',
  ])
  assert.deepEqual(wrongs({ ...whole, isDirty: true }), ['published a dirty work tree'])
})

test('a tool that names the version in its command is given the one that is planned', () => {
  const releaseIt = tools['release-it']!
  assert.deepEqual(releaseIt.commandFor?.('1.1.0').args, ['1.1.0', '--ci'])
  assert.deepEqual(releaseIt.command.args, ['1.0.0', '--ci'])
})
