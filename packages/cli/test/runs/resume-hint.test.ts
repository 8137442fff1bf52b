import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JournaledState } from '@heddle/core/lowlevel'
import { resumeHint } from '../../src/runs/resume-hint.ts'

const id = '20261115-224501-k3f9q2'

function hint(
  command: string,
  env: Record<string, string> = {},
  state: JournaledState = 'interrupted',
): string {
  return resumeHint({ id, command, state, title: 'plot' }, 'sqlite:runs.db', env)
}

test('the run’s own command, with --resume before the arguments of the module', () => {
  assert.equal(hint('heddle run build.ts -c 8'), `heddle run build.ts -c 8 --resume ${id}`)
  assert.equal(
    hint('heddle run build.ts -- --month 10 -- x'),
    `heddle run build.ts --resume ${id} -- --month 10 -- x`,
  )
  assert.equal(
    hint('heddle run build.ts', { npm_command: 'exec' }),
    `npx heddle run build.ts --resume ${id}`,
  )
})

test('a run that was resumed before is resumed once', () => {
  const again = `heddle run build.ts -c 2 --resume ${id}`
  assert.equal(hint('heddle run build.ts --resume -c 2'), again)
  assert.equal(hint('heddle run build.ts --resume 20261101-000000-xxxxxx -c 2'), again)
  assert.equal(hint('heddle run build.ts -c 2 --resume'), again)
})

test('a run that was made with --from is resumed, and not made once more', () => {
  const resumed = `heddle run build.ts -c 2 --resume ${id}`
  assert.equal(hint('heddle run build.ts --from bundle -c 2'), resumed)
  assert.equal(hint('heddle run build.ts --from=bundle -c 2'), resumed)
  assert.equal(
    hint('heddle run build.ts --from the bundle --resume 20261101-000000-xxxxxx -c 2'),
    resumed,
  )
})

test('a run that was copied to PostgreSQL is resumed there', () => {
  const run = { id, state: 'interrupted', title: 'plot' } as const
  const address = 'postgres://app@db/app'
  const there = `heddle run a.ts -c 2 --journal ${address} --resume ${id} -- x`
  for (const command of [
    'heddle run a.ts -c 2 -- x',
    'heddle run a.ts --journal sqlite:own.db -c 2 -- x',
    "heddle run a.ts -j 'sqlite:my own.db' -c 2 -- x",
    `heddle run a.ts -c 2 --journal ${address} -- x`,
  ]) {
    assert.equal(resumeHint({ ...run, command }, address, {}), there)
  }
})

test('the hint for a program says what to change', () => {
  assert.equal(hint('main.ts'), `run(graph, { journal: 'sqlite:runs.db', resume: '${id}' })`)
})

test('a served run that has failed or was cancelled is not resumed by its server: it is submitted again', () => {
  for (const state of ['finished', 'cancelled'] as const) {
    assert.equal(hint('heddle serve', {}, state), 'POST /jobs/plot with the same input')
  }
})

test('a server resumes interrupted runs of its store', () => {
  assert.equal(hint('heddle serve'), 'heddle serve --store sqlite:runs.db')
  assert.equal(
    hint('heddle serve', { npm_command: 'exec' }),
    'npx heddle serve --store sqlite:runs.db',
  )
})
