import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  hasWorkspacePart,
  rangeOfVersion,
  readWorkspaceRange,
  withVersion,
  type WorkspaceRange,
} from '../../src/manifest/workspace-range.ts'

const forms: readonly (readonly [range: string, read: WorkspaceRange | undefined])[] = [
  ['workspace:*', { spec: '*' }],
  ['workspace:', { spec: '*' }],
  ['workspace:^', { spec: '^' }],
  ['workspace: ^1.0.0', { spec: '^1.0.0' }],
  ['workspace:p@^', { spec: '^', name: 'p' }],
  ['workspace:@s/p@^1.0.0', { spec: '^1.0.0', name: '@s/p' }],
  ['npm:@s/p@workspace:~', { spec: '~', name: '@s/p' }],
  ['npm:p@workspace:', { spec: '*', name: 'p' }],
  ['workspace:../p', { spec: '*', folder: '../p' }],
  ['workspace:.', { spec: '*', folder: '.' }],
  ['workspace:packages/p', { spec: '*', folder: 'packages/p' }],
  ['^1.0.0', undefined],
  ['npm:p@^1.0.0', undefined],
  ['link:../workspace:p', undefined],
]

test('every form of `workspace:` is read in one place', () => {
  for (const [range, read] of forms) assert.deepEqual(readWorkspaceRange(range), read, range)
})

test('several parts, and what stands for a version', () => {
  assert.equal(hasWorkspacePart('^0.9.0 || workspace:^'), true)
  assert.equal(hasWorkspacePart('^0.9.0 || ^1.0.0'), false)
  assert.equal(hasWorkspacePart('workspace:^'), false)
  assert.equal(
    withVersion('^0.9.0||workspace:^ || workspace:2.x', '1.2.3'),
    '^0.9.0 || ^1.2.3 || 2.x',
  )
  assert.equal(withVersion('workspace:p@^ || ^1.0.0', '1.2.3'), 'workspace:p@^ || ^1.0.0')
  assert.equal(rangeOfVersion('*', '1.2.3'), '1.2.3')
  assert.equal(rangeOfVersion('>=', '1.2.3'), '>=1.2.3')
  assert.equal(rangeOfVersion('1.x', '1.2.3'), undefined)
})
