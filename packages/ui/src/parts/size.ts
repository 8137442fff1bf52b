/** The size of an element, kept current. */
import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect } from 'preact/hooks'

export interface Size {
  readonly width: number
  readonly height: number
}

export function useSize(ref: RefObject<HTMLElement | null>): Size {
  const size = useSignal<Size>({ width: 800, height: 400 })
  useEffect(() => {
    const element = ref.current
    if (element === null) return undefined
    const observer = new ResizeObserver(([entry]) => {
      const { width, height } = entry!.contentRect
      size.value = { width, height }
    })
    observer.observe(element)
    return () => observer.disconnect()
  }, [ref.current])
  return size.value
}
