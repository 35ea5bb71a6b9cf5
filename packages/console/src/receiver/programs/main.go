package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

var secret = os.Getenv("WEBHOOK_SECRET")

var key = signingKey()

func signingKey() []byte {
	var err error
	key := []byte(secret)
	if rest, found := strings.CutPrefix(secret, "whsec_"); found {
		rest = strings.TrimRight(rest, "=") // optional padding
		key, err = base64.RawStdEncoding.DecodeString(rest)
	}
	if err != nil || len(key) == 0 {
		log.Fatal("Set WEBHOOK_SECRET to the webhook's secret.")
	}
	return key
}

func isValid(body []byte, h http.Header) bool {
	stamp := h.Get("webhook-timestamp")
	sentAt, err := strconv.ParseInt(stamp, 10, 64)
	age := time.Since(time.Unix(sentAt, 0))
	if err != nil || age.Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(h.Get("webhook-id") + "." + stamp + "."))
	mac.Write(body) // the raw bytes
	sum := base64.StdEncoding.EncodeToString(mac.Sum(nil))
	expected := "v1," + sum
	for _, one := range strings.Fields(h.Get("webhook-signature")) {
		if hmac.Equal([]byte(one), []byte(expected)) {
			return true
		}
	}
	return false
}

func receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || !isValid(body, r.Header) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	// Store the event before you respond; do slow work later.
	log.Printf("%s", body)
	w.WriteHeader(http.StatusOK)
}

func main() {
	http.HandleFunc("/webhooks", receive)
	log.Fatal(http.ListenAndServe(":3000", nil))
}
