import { raceTests } from '../support/races.ts'

const client = (again: string, end = `this.status = 'closed'`): string => `export class Client {
  status = 'idle'
  socket: Socket | undefined
  async open() {
    this.status = 'connecting'
    this.socket = await dial()
    this.status = 'open'
  }
  async send(text: string) {
    if (this.status !== 'open') throw new Error('not open')
    const body = await encode(text)
    ${again}
    this.socket.write(body)
  }
  close() {
    ${end}
    this.socket.destroy()
  }
}
`

const again = `if (this.status !== 'open') throw new Error('closed meanwhile')`

const poller = (body: string): string => `export class Poller {
  #running = false
  #channel: Channel | undefined
  start() {
    this.#running = true
    this.#channel = openChannel()
  }
  tick() {
    if (!this.#running) return
    look((error, news) => {
      ${body}
    })
  }
  stop() {
    this.#running = false
    this.#end()
  }
  #end() {
    this.#channel.close()
  }
}
`

const feed = (before: string, after: string): string => `export class Feed {
  stopped = false
  async push(text: string) {
    ${before}
    const body = await sign(text)
    ${after}
    this.channel.publish(body)
  }
  stop() {
    this.stopped = true
    this.#end()
  }
  #end() {
    this.channel.close()
  }
}
`

raceTests('H201', [
  {
    name: 'a state with a name that close() sets',
    check: `if (this.status !== 'open')`,
    act: 'this.socket.write',
    race: client(''),
    fixed: client(again),
  },
  {
    name: 'a constant of an enumeration',
    check: `if (this.status !== 'open')`,
    act: 'this.socket.write',
    race: client('', 'this.status = Status.Closed'),
    fixed: client(again, 'this.status = Status.Closed'),
  },
  {
    name: 'a flag that a stop sets to false, and a callback',
    check: 'if (!this.#running)',
    act: 'this.#channel.publish',
    race: poller('this.#channel.publish(news)'),
    fixed: poller('if (this.#running) this.#channel.publish(news)'),
  },
  {
    name: 'what runs because the state is not the open one may expect the end',
    act: 'this.socket.write',
    race: client(''),
    fixed: client('').replace(
      `if (this.status !== 'open') throw new Error('not open')`,
      `if (this.status === 'closed') await this.open()`,
    ),
  },
  {
    name: 'the handle is given back by a function that the setter of the flag calls',
    check: 'if (this.stopped)',
    act: 'this.channel.publish',
    race: feed('if (this.stopped) return', ''),
    fixed: feed('', 'if (this.stopped) return'),
  },
])
