import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PackageReport } from '@heddle/release'
import { stageTable } from '../../src/release/stage-table.ts'
import { paint } from '../../src/text/line.ts'

const report = (name: string, stages: PackageReport['stages']): PackageReport => ({
  name,
  version: '1.0.0',
  ecosystem: 'npm',
  registry: 'http://localhost/',
  outcome: 'published',
  uploads: 1,
  stages,
  problems: [],
})

test('stages per package in a table: only stages and packages that took time', () => {
  const packages = [
    report('@a/core', { manifest: 4, build: 1_234, upload: 80, tag: 0 }),
    report('@a/ui', { upload: 12_000, smoke: 900 }),
    report('@a/old', {}),
  ]
  assert.deepEqual(
    stageTable(packages).map((line) => paint(line, false)),
    [
      '',
      '         build  upload   smoke',
      '@a/core  1.2 s   80 ms',
      '@a/ui             12 s  900 ms',
    ],
  )
  assert.deepEqual(stageTable([report('@a/old', {})]), [])
  const left = {
    ...report('@a/there', { build: 17, upload: 21 }),
    outcome: 'already-published',
  } as const
  assert.deepEqual(stageTable([left]), [], 'nothing was built or uploaded')
})
