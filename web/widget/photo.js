// The bytes of a photo that a page shows.

import { makeError } from "./engine.js";

// Longest side in pixels: enough for every model, since photos are resized before they are read.
const MAX_SIDE = 2048;

/**
 * The photo at an address, as `{ photo, why }`. Its bytes are those of the file if the file can be
 * fetched; `why` is then null. Otherwise the photo is a copy of the image as the browser shows it,
 * and `why` says so: a copy may get a slightly different ladder, and its receipt cannot be verified.
 *
 * In a frame (`framed`), the page has a policy of its own. Files of the page are then not fetched,
 * because the browser would report each forbidden fetch to the owner of the page.
 */
export async function photoOf(url, home, { framed = false } = {}) {
  const isPages = url.origin === location.origin && url.origin !== home.origin;
  let isMissing = false;
  if (!(framed && isPages)) {
    try {
      const response = await fetch(url);
      if (response.ok) return { photo: await response.blob(), why: null };
      isMissing = true;
    } catch {
      // A policy may list folders instead of origins, and may allow images but no fetch.
    }
  }
  const photo = await toPng(await loadImage(url, isMissing));
  return { photo, why: "This page does not let the file of the photo be fetched, so a copy of the shown image was read. The answer may differ slightly from that for the file." };
}

async function loadImage(url, isMissing) {
  const image = new Image();
  if (url.origin !== location.origin && url.protocol.startsWith("http")) image.crossOrigin = "anonymous";
  image.src = url;
  try {
    await image.decode();
    return image;
  } catch (error) {
    const name = url.pathname.split("/").pop();
    if (isMissing || url.origin === location.origin) {
      throw makeError("photo", `The photo “${name}” is not there, or is no photo.`, "Choose a photo of your own, or try again.", error);
    }
    throw makeError(
      "photo",
      `The photo “${name}” could not be read.`,
      "Whoever runs this page has to put it on the same site, or let other sites read it (Access-Control-Allow-Origin).",
      error,
    );
  }
}

/** An image as PNG, upright as the browser shows it. */
async function toPng(image) {
  const scale = Math.min(1, MAX_SIDE / Math.max(image.naturalWidth, image.naturalHeight));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(image.naturalWidth * scale));
  canvas.height = Math.max(1, Math.round(image.naturalHeight * scale));
  const context = canvas.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}
