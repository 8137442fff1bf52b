import { raceTests } from '../support/races.ts'

raceTests('H501', [
  {
    name: 'callbacks of one Promise.all',
    check: 'total += await',
    race: `export async function sum(items: string[]) {
  let total = 0
  await Promise.all(
    items.map(async (item) => {
      total += await price(item)
    }),
  )
  return total
}
`,
    fixed: `export async function sum(items: string[]) {
  let total = 0
  await Promise.all(
    items.map(async (item) => {
      const one = await price(item)
      total += one
    }),
  )
  return total
}
`,
  },
  {
    name: 'a snapshot of a map',
    check: 'counts.get',
    act: 'counts.set',
    race: `const counts = new Map<string, number>()
export async function hit(key: string) {
  const count = counts.get(key) ?? 0
  await log(key)
  counts.set(key, count + 1)
}
`,
    fixed: `const counts = new Map<string, number>()
export async function hit(key: string) {
  await log(key)
  const count = counts.get(key) ?? 0
  counts.set(key, count + 1)
}
`,
  },
  {
    name: 'a queue whose head is looked at and later removed',
    check: 'this.queue[0]',
    act: 'this.queue.shift',
    race: `export class Outbox {
  queue: string[] = []
  async drain() {
    while (this.queue.length > 0) {
      const first = this.queue[0]
      await send(first)
      this.queue.shift()
    }
  }
}
`,
    fixed: `export class Outbox {
  queue: string[] = []
  async drain() {
    while (this.queue.length > 0) {
      const first = this.queue.shift()
      await send(first)
    }
  }
}
`,
  },
  {
    name: 'a buffer that is written back without what came meanwhile; drained and restored it is none',
    act: 'this.lines = batch.concat',
    race: `export class Outbox {
  lines: string[] = []
  async flush() {
    const batch = this.lines
    const rest = await post(batch)
    this.lines = batch.concat(rest)
  }
  add(line: string) {
    this.lines.push(line)
  }
}
`,
    fixed: `export class Outbox {
  lines: string[] = []
  async flush() {
    const batch = this.lines
    this.lines = []
    try {
      await post(batch)
    } catch (error) {
      this.lines = batch.concat(this.lines)
      throw error
    }
  }
  add(line: string) {
    this.lines.push(line)
  }
}
`,
  },
])
