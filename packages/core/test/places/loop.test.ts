import assert from 'node:assert/strict'
import test from 'node:test'
import { Graph, job, run } from '@heddle/core'
import { LoopWatch } from '@heddle/core/lowlevel'
import { currentBlame } from '../../src/watch/blame.ts'

test('while a watch is running, code of a loop job carries its name', async () => {
  await using watch = new LoopWatch()
  await watch.start()
  const g = new Graph()
  const seen = g.add(
    'parse rows',
    job({ name: 'a' }, () => currentBlame()),
  )
  const result = await run(g)
  assert.equal(result.of(seen), 'job "parse rows"')
})

test('without a watch there is no label and no cost', async () => {
  const g = new Graph()
  const seen = g.add(
    'a',
    job({ name: 'a' }, () => currentBlame()),
  )
  assert.equal((await run(g)).of(seen), undefined)
})
