import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemKernel } from '@heddle/core/lowlevel'
import { sampleStory, storyJournal, storyNode, type Story } from '@heddle/core/testing'
import { RunViews } from '../../src/runs/run-views.ts'

const id = '20261115-224501-k3f9q2'

async function reportOf(story: Story): Promise<string> {
  await using journal = await storyJournal(story)
  const views = new RunViews(journal, systemKernel.clock)
  return await views.answer({ type: 'export', run: id, format: 'html' })
}

test('the page has the facts, every error, a bar for each attempt, the path, the nodes and the log', async () => {
  const page = await reportOf(sampleStory)
  assert.match(page, /<span class="state failed">failed<\/span> build\.ts/)
  assert.match(page, /3 succeeded, 1 failed, 1 blocked|1 failed/)
  assert.match(page, /attempt 1: <b>TypeError<\/b> answered 503/)
  assert.match(page, /attempt 1: <b>Error<\/b> busy/)
  assert.equal(page.match(/<rect class="run /g)?.length, 5)
  assert.match(page, /<h2>Critical path, /)
  assert.equal(page.match(/<tr><td id="n\d+">/g)?.length, 5)
  assert.match(page, /<b>fetch<\/b> reading 3 pages/)
  assert.match(page, /flowchart LR/)
  for (const [, anchor] of page.matchAll(/href="#(n\d+)"/g)) {
    assert.ok(page.includes(`id="${anchor}"`), `${anchor} leads somewhere`)
  }
})

test('P1 names, messages and lines of the log stay text, and the policy allows no script', async () => {
  const evil = '</style><script>alert(1)</script><img src=x onerror="alert(1)">'
  const page = await reportOf({
    title: evil,
    nodes: [storyNode(evil)],
    rows: [
      [0, evil, 'ready'],
      [1, evil, 'running'],
      [1, evil, 'log', evil],
      [2, evil, 'failed', { error: { name: evil, message: evil, stack: evil } }],
      [2, 'finished'],
    ],
  })
  assert.doesNotMatch(page, /<script|<img/)
  assert.equal(page.match(/<\/style>/g)?.length, 1)
  assert.match(page, /content="default-src 'none'; style-src 'unsafe-inline'"/)
})

test('P2 a large run is cut: the deciding nodes are kept, and the rest is counted', async () => {
  const names = Array.from({ length: 400 }, (_, i) => `n ${i}`)
  const page = await reportOf({
    nodes: [...names.map((name) => storyNode(name)), storyNode('last', 'n 399')],
    rows: [
      ...names.flatMap((name, i): Story['rows'] => [
        [i, name, 'ready'],
        [i, name, 'running'],
        [i + 1, name, 'succeeded'],
      ]),
      [400, 'last', 'ready'],
      [400, 'last', 'running'],
      [900, 'last', 'succeeded'],
      [900, 'finished'],
    ],
  })
  assert.equal(page.match(/<rect class="run /g)?.length, 300)
  assert.match(page, /<text [^>]*class="critical">last<\/text>/)
  assert.match(page, /101 nodes left out here/)
})
