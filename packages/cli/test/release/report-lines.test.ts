import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PackageReport, Problem, ReleaseReport } from '@heddle/release'
import { reportLines, type Around } from '../../src/release/report-lines.ts'
import { paint } from '../../src/text/line.ts'
import { unicodeSymbols } from '../../src/text/symbols.ts'

const packageReport = (more: Partial<PackageReport> = {}): PackageReport => ({
  name: 'a',
  version: '1.0.0',
  ecosystem: 'npm',
  registry: 'http://localhost/',
  outcome: 'failed',
  uploads: 0,
  stages: {},
  problems: [],
  ...more,
})

function textOf(
  packages: readonly PackageReport[],
  more: Partial<ReleaseReport> = {},
  around: Around = {},
): string {
  const report: ReleaseReport = {
    ok: false,
    isDryRun: false,
    isCancelled: false,
    run: undefined,
    packages,
    warnings: [],
    restored: [],
    ms: 0,
    ...more,
  }
  const lines = reportLines(report, unicodeSymbols, around)
  return lines.map((line) => paint(line, false)).join('\n')
}

const failedWith = (stage: Problem['stage'], code: string): PackageReport =>
  packageReport({ problems: [{ stage, code, message: 'It failed.' }] })

test('"Run the same command again" is printed only where that may help', () => {
  const again = /Run the same command again/
  const correct = /Correct the faults named above/
  for (const each of [
    failedWith('check', 'HDL_TAG_TAKEN'),
    failedWith('check', 'HDL_TAG_BACKWARDS'),
    failedWith('upload', 'HDL_PACKAGE_REFUSED'),
    failedWith('upload', 'HDL_REGISTRY_AUTH'),
    failedWith('build', 'HDL_COMMAND_FAILED'),
    failedWith('pack', 'HDL_COMMAND_FAILED'),
    failedWith('manifest', 'HDL_WORKSPACE_INVALID'),
    packageReport({ outcome: 'conflict' }),
  ]) {
    assert.doesNotMatch(textOf([each]), again)
    assert.match(textOf([each]), correct)
  }
  const passing = failedWith('upload', 'HDL_REGISTRY_UNAVAILABLE')
  assert.match(textOf([passing]), again)
  assert.match(textOf([failedWith('smoke', 'HDL_COMMAND_FAILED')]), again)
  assert.match(textOf([failedWith('upload', 'HDL_ARTIFACT_CHANGED')]), again)
  assert.match(textOf([passing, failedWith('check', 'HDL_TAG_TAKEN')]), again)
  assert.doesNotMatch(textOf([packageReport({ outcome: 'published' })], { ok: true }), correct)
})

test('a cancelled stage is one word, without help for programs', () => {
  const message = 'The run was cancelled (shutdown by SIGTERM).'
  const problems = [
    { stage: 'tag', code: 'HDL_CANCELLED', message, help: 'See `source`.' },
  ] as const
  const text = textOf([packageReport({ outcome: 'published', problems })], { isCancelled: true })
  assert.match(text, /\n {4}tag: cancelled\n/)
  assert.doesNotMatch(text, /source|SIGTERM/)
})

test('a release that was cancelled is finished by the same command, however far it had got', () => {
  const published = packageReport({ outcome: 'published' })
  const text = textOf([published, packageReport({ outcome: 'blocked' })], { isCancelled: true })
  assert.match(text, /Run the same command again/)
  assert.doesNotMatch(text, /Correct the faults named above/)
})

test('an empty release says that there is nothing to release', () => {
  assert.match(textOf([], { ok: true }), /Nothing to release/)
})

test('tags that were made and not pushed are counted, with the command that pushes them', () => {
  const published = packageReport({ outcome: 'published', gitTag: 'v1.0.0' })
  const old = packageReport({ outcome: 'already-published', gitTag: 'b@1.0.0' })
  const around = { unpushedTo: 'origin' }
  const text = textOf([published, { ...published, name: 'c' }, old], { ok: true }, around)
  assert.match(
    text,
    /1 Git tag only in this clone: `git push origin --tags`, or publish with --push/,
  )
  assert.doesNotMatch(textOf([old], { ok: true }, around), /Git tag/)
  assert.doesNotMatch(textOf([published], { ok: true }), /Git tag/)
})

test('what failed is printed last, below the table: a long release scrolls off a terminal', () => {
  const problems = [
    { stage: 'upload', code: 'HDL_PACKAGE_REFUSED', message: 'It failed.' },
  ] as const
  const text = textOf([
    packageReport({ name: 'failed', problems }),
    packageReport({ name: 'needs-it', outcome: 'blocked', blockedBy: 'failed' }),
    packageReport({ name: 'good', outcome: 'published', stages: { pack: 2 } }),
    packageReport({ name: 'later', outcome: 'accepted-not-visible' }),
    packageReport({ name: 'untagged', outcome: 'published', problems }),
    packageReport({ name: 'old', outcome: 'already-published' }),
  ])
  assert.deepEqual(
    text.split('\n').map((line) => /^[a-z]+(?=\s+\d)|(?<=^\S )[a-z-]+(?=@)/.exec(line)?.[0] ?? ''),
    // The table, then the outcomes, with a line below what failed.
    [
      '',
      '',
      'good',
      '',
      'good',
      'old',
      'needs-it',
      'later',
      'failed',
      '',
      'untagged',
      '',
      '',
      '',
      '',
    ],
  )
})
