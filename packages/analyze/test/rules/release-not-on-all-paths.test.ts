import { raceTests } from '../support/races.ts'

raceTests('H303', [
  {
    name: 'a lock that a failure keeps',
    check: 'acquire',
    act: 'release',
    race: `export class Journal {
  constructor(private mutex: Mutex) {}
  async append(line: string) {
    await this.mutex.acquire()
    await put(line)
    this.mutex.release()
  }
}
`,
    fixed: `export class Journal {
  constructor(private mutex: Mutex) {}
  async append(line: string) {
    await this.mutex.acquire()
    try {
      await put(line)
    } finally {
      this.mutex.release()
    }
  }
}
`,
  },
  {
    name: 'a flag that a failure leaves set',
    check: 'this.running = true',
    act: 'this.running = false',
    race: `export class Timer {
  running = false
  async tick() {
    if (this.running) return
    this.running = true
    await work()
    this.running = false
  }
}
`,
    fixed: `export class Timer {
  running = false
  async tick() {
    if (this.running) return
    this.running = true
    try {
      await work()
    } catch {
      report()
    }
    this.running = false
  }
}
`,
  },
])
