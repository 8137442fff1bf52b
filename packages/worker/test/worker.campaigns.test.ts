/** Campaigns that fail, with workers in processes of their own. */
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openPeople, startServer, type Server } from '@heddle/server'
import { reach } from '../../core/test/kernel/until.ts'
import * as jobs from './fixtures/jobs.ts'

const script = fileURLToPath(new URL('./fixtures/work.ts', import.meta.url))

interface Owner {
  readonly user: string
  readonly worker: string
}

interface Around {
  readonly server: Server
  readonly ann: Owner
  readonly bob: Owner
  /** Starts a worker in a process of its own. */
  readonly work: (token: string) => void
}

async function withOwners(use: (around: Around) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'heddle-campaigns-'))
  const processes: ChildProcess[] = []
  try {
    const store = `sqlite:${path.join(folder, 'store.db')}`
    await using opened = await openPeople(store)
    const { people } = opened
    await people.addUser({ name: 'root', role: 'admin', password: 'correct horse battery' })
    const ownerOf = async (name: string): Promise<Owner> => {
      const scopes = ['submit', 'read', 'operate'] as const
      const user = await people.addToken({ name: `${name}-user`, scopes: [...scopes], by: 'root' })
      const worker = await people.addToken({ name, scopes: ['worker'], by: 'root' })
      return { user: user.token, worker: worker.token }
    }
    const [ann, bob] = [await ownerOf('ann'), await ownerOf('bob')]
    await using server = await startServer({ jobs, store, port: 0, limits: { loopGap: Infinity } })
    const work = (token: string): void => {
      const args = ['--conditions=heddle-source', '--disable-warning=ExperimentalWarning']
      processes.push(
        spawn(process.execPath, [...args, script, server.url, token], {
          stdio: ['ignore', 'ignore', 'inherit'],
        }),
      )
    }
    await use({ server, ann, bob, work })
    for (const each of processes) {
      const exited = once(each, 'exit')
      each.kill('SIGTERM')
      assert.deepEqual(await exited, [0, null])
    }
  } finally {
    for (const each of processes) each.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  }
}

async function ask<T>({ url }: Server, route: string, token: string, body?: unknown): Promise<T> {
  for (;;) {
    const response = await fetch(url + route, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const answer = (await response.json()) as { error?: { retry_after_ms?: number } }
    if (response.ok) return answer as T
    assert.equal(response.status, 429, JSON.stringify(answer))
    // These tests ask again and again: like any client they come back when the server says so.
    await setTimeout(answer.error?.retry_after_ms)
  }
}

async function makeCampaign(server: Server, token: string, name: string): Promise<string> {
  const body = { name, job: 'broken', units: 100 }
  return (await ask<{ id: string }>(server, '/campaigns', token, body)).id
}

test('P6: a campaign that three processes of two owners cannot start ends with the reason', async () => {
  await withOwners(async ({ server, ann, bob, work }) => {
    const id = await makeCampaign(server, ann.user, 'match')
    for (const { worker } of [ann, ann, bob]) work(worker)
    interface Shown {
      readonly phase: string
      readonly ended?: { readonly why: string; readonly detail?: string }
    }
    const shown = await reach(
      () => ask<Shown>(server, `/campaigns/${id}`, ann.user),
      ({ phase }) => phase === 'ended',
    )
    assert.equal(shown.ended?.why, 'cannot_start', JSON.stringify(shown))
    assert.match(shown.ended.detail ?? '', /no ink/)
  })
})

test('W5: a process that fails in three campaigns of two owners gets no more, and the list of workers says why', async () => {
  await withOwners(async ({ server, ann, bob, work }) => {
    for (const [name, { user }] of [
      ['one', ann],
      ['two', ann],
      ['three', bob],
    ] as const) {
      await makeCampaign(server, user, name)
    }
    work(ann.worker)
    interface Summary {
      readonly list: readonly { readonly why_idle?: string; readonly leases: unknown[] }[]
    }
    const { list } = await reach(
      () => ask<Summary>(server, '/fleet/summary?workers=10', ann.user),
      (summary) => summary.list[0]?.why_idle?.startsWith('this worker failed in') === true,
    )
    assert.match(
      list[0]!.why_idle!,
      /^this worker failed in 3 campaigns of different owners; repair it/,
    )
  })
})
