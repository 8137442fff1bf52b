/** The size of an element, kept current. */
import { useSignal } from '@preact/signals'
import type { RefObject } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'

export interface Size {
  readonly width: number
  readonly height: number
  /** False until the element was measured: nothing that costs time is drawn for a size that is a guess. */
  readonly isKnown: boolean
}

export function useSize(ref: RefObject<HTMLElement | null>): Size {
  const size = useSignal<Size>({ width: 800, height: 400, isKnown: false })
  const observed = useRef<{ readonly element: HTMLElement; readonly stop: () => void } | undefined>(
    undefined,
  )
  // After each rendering: the element may come later than the component, and another may take its place.
  useLayoutEffect(() => {
    const element = ref.current
    if (element === (observed.current?.element ?? null)) return
    observed.current?.stop()
    observed.current = undefined
    if (element === null) return
    const observer = new ResizeObserver(([entry]) => {
      const { width, height } = entry!.contentRect
      size.value = { width, height, isKnown: true }
    })
    observer.observe(element)
    observed.current = { element, stop: () => observer.disconnect() }
  })
  useLayoutEffect(() => () => observed.current?.stop(), [])
  return size.value
}

/** Gives a canvas the pixels of the screen for a size in pixels of the page. Setting a size clears it: only when it differs. */
export function fitCanvas(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
  ratio: number,
): void {
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)]
  if (canvas.width !== across) canvas.width = across
  if (canvas.height !== down) canvas.height = down
}
