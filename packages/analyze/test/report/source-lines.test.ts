import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SourceLines } from '../../src/report/source-lines.ts'

test('each file is read once, whether it is there or not', () => {
  const asked: string[] = []
  const lines = new SourceLines((file) => {
    asked.push(file)
    return file === 'here.ts' ? 'one\ntwo' : undefined
  })
  assert.equal(lines.of('here.ts')!.line(2), 'two')
  assert.equal(lines.of('here.ts')!.line(1), 'one')
  assert.equal(lines.of('gone.ts'), undefined)
  assert.equal(lines.of('gone.ts'), undefined)
  assert.deepEqual(asked, ['here.ts', 'gone.ts'])
})
