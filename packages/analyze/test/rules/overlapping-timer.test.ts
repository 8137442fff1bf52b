import { raceTests } from '../support/races.ts'

raceTests('H403', [
  {
    name: 'a method that an interval and others start',
    act: 'fetchRows',
    race: `export class Poller {
  start() {
    setInterval(() => {
      this.poll().catch(report)
    }, 1_000)
  }
  async poll() {
    const rows = await fetchRows()
    for (const row of rows) this.queue.push(row)
  }
}
`,
    fixed: `export class Poller {
  polling = false
  start() {
    setInterval(() => {
      this.poll().catch(report)
    }, 1_000)
  }
  async poll() {
    if (this.polling) return
    this.polling = true
    try {
      const rows = await fetchRows()
      for (const row of rows) this.queue.push(row)
    } finally {
      this.polling = false
    }
  }
}
`,
  },
  {
    name: 'a bound method',
    extension: 'js',
    act: 'fetchLast',
    race: `class Poller {
  start() {
    this.timer = setInterval(this.tick.bind(this), 100)
  }
  async tick() {
    this.last = await fetchLast()
  }
}
module.exports = Poller
`,
    fixed: `class Poller {
  async start() {
    for (;;) {
      await this.tick()
      await sleep(100)
    }
  }
  async tick() {
    this.last = await fetchLast()
  }
}
module.exports = Poller
`,
  },
  {
    name: 'two listeners that start the same work',
    act: 'fetchState',
    race: `export class Mirror {
  constructor(network: Emitter) {
    network.on('up', () => {
      void this.refresh()
    })
    network.on('changed', () => {
      void this.refresh()
    })
  }
  async refresh() {
    const state = await fetchState()
    this.state = state
  }
}
`,
    fixed: `export class Mirror {
  tail = Promise.resolve()
  constructor(network: Emitter) {
    network.on('up', () => this.trigger())
    network.on('changed', () => this.trigger())
  }
  trigger() {
    this.tail = this.tail.then(() => this.refresh())
  }
  private async refresh() {
    const state = await fetchState()
    this.state = state
  }
}
`,
  },
])
