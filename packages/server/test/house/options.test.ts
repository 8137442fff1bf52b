import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { Graph, isError, job } from '@heddle/core'
import { campaign, schedule, serveJob, startServer } from '../../src/index.ts'

const src = path.resolve(import.meta.dirname, '../../src')
const read = (file: string): string => readFileSync(path.join(src, file), 'utf8')

const square = job({ name: 'square' }, (n: number) => n * n)

interface Checked {
  readonly file: string
  /** How its fields are declared there, where that is another name. */
  readonly declaredAs?: string
  readonly call: (options: object) => unknown
}

async function drain(options: object): Promise<unknown> {
  await using server = await startServer({ jobs: [square], port: 0 })
  return await server.drain(options)
}

/** Every exported type that is an object with options. */
const checked: Readonly<Record<string, Checked>> = {
  ServerOptions: {
    file: 'server-options.ts',
    call: (options) => startServer({ jobs: [square], port: 0, ...options }),
  },
  ServerLimits: {
    file: 'limits.ts',
    call: (limits) => startServer({ jobs: [square], port: 0, limits }),
  },
  LogOptions: {
    file: 'log/structured-log.ts',
    call: (log) =>
      startServer({ jobs: [square], port: 0, log: { to: { write: () => undefined }, ...log } }),
  },
  ServeJobOptions: {
    file: 'jobs/served-job.ts',
    call: (options) => serveJob({ name: 'a', prepare: square, ...options }),
  },
  StageLimits: {
    file: 'jobs/served-job.ts',
    call: (limits) => serveJob({ name: 'a', prepare: square, limits }),
  },
  ScheduleOptions: {
    file: 'schedules/schedule.ts',
    call: (options) => schedule('a', '0 3 * * *', () => new Graph(), options),
  },
  CampaignOptions: {
    file: 'campaigns/own-campaign.ts',
    call: (options) => campaign('a', options),
  },
  DrainOptions: {
    file: '../../core/src/kernel/service.ts',
    declaredAs: 'StopOptions',
    call: drain,
  },
}

function fieldsOf({ file, declaredAs }: Checked, name: string): string[] {
  const declared = declaredAs ?? name
  const body = new RegExp(`\\binterface ${declared}\\b[^{]*\\{([\\s\\S]*?)\\n\\}`).exec(
    read(file),
  )![1]!
  return [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, field]) => field!)
}

function isRefused(error: unknown, text: string): boolean {
  const isOurs = isError(error, 'HDL_BAD_OPTION') || isError(error, 'HDL_UNKNOWN_OPTION')
  assert.ok(isOurs, `${text}: ${String(error)}`)
  return true
}

test('every exported object with options is in the table above', () => {
  const exported = [...read('index.ts').matchAll(/type (\w+(?:Options|Limits|Settings))\b/g)]
  const missing = exported.map(([, name]) => name!).filter((name) => checked[name] === undefined)
  assert.ok(exported.length >= 4)
  assert.deepEqual(missing, [])
})

test('every object with options refuses a key that it does not have', async () => {
  for (const [name, { call }] of Object.entries(checked)) {
    await assert.rejects(
      async () => await call({ notAnOption: 1 }),
      { code: 'HDL_UNKNOWN_OPTION' },
      name,
    )
  }
})

test('every option refuses a value of a kind that it does not take', async () => {
  for (const [name, each] of Object.entries(checked)) {
    const fields = fieldsOf(each, name)
    assert.ok(fields.length > 0, name)
    for (const field of fields) {
      for (const wrong of [Symbol('wrong'), 5n, [Symbol('wrong')]]) {
        const text = `${name}: ${field} as ${Array.isArray(wrong) ? 'a list' : String(wrong)}`
        await assert.rejects(
          async () => await each.call({ [field]: wrong }),
          (error) => isRefused(error, text),
          text,
        )
      }
    }
  }
})

test('a misspelt limit is refused with its path and a suggestion', async () => {
  const mistakes: readonly (readonly [limits: object, text: RegExp])[] = [
    [{ quue: 5 }, /"limits\.quue"\. Did you mean "limits\.queue"/],
    [
      { resources: { db: { permits: 2, reservd: 1 } } },
      /"limits\.resources\.db\.reservd"\. Did you mean "limits\.resources\.db\.reserved"/,
    ],
    [{ thread: { permits: 2, reservd: 1 } }, /Did you mean "limits\.thread\.reserved"/],
  ]
  for (const [limits, text] of mistakes) {
    await assert.rejects(startServer({ jobs: [square], port: 0, limits }), text)
  }
})
