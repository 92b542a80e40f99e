package encryption;

import com.azure.core.cryptography.KeyEncryptionKey;
import com.azure.core.cryptography.KeyEncryptionKeyResolver;
import java.security.GeneralSecurityException;
import javax.crypto.Cipher;
import javax.crypto.spec.SecretKeySpec;

/** Master keys that this program has itself, in place of those of a vault. */
final class LocalKeys implements KeyEncryptionKeyResolver {
    private final SecretKeySpec master;

    /** `seed`: other seeds are other keys. */
    LocalKeys(int seed) {
        byte[] bytes = new byte[16];
        bytes[0] = (byte) seed;
        master = new SecretKeySpec(bytes, "AES");
    }

    @Override
    public KeyEncryptionKey buildKeyEncryptionKey(String id) {
        return new KeyEncryptionKey() {
            @Override
            public String getKeyId() {
                return id;
            }

            @Override
            public byte[] wrapKey(String algorithm, byte[] key) {
                try {
                    Cipher cipher = cipher(Cipher.WRAP_MODE);
                    return cipher.wrap(new SecretKeySpec(key, "AES"));
                } catch (GeneralSecurityException error) {
                    throw new IllegalStateException(error);
                }
            }

            @Override
            public byte[] unwrapKey(String algorithm, byte[] wrapped) {
                try {
                    return cipher(Cipher.UNWRAP_MODE).unwrap(wrapped, "AES", Cipher.SECRET_KEY).getEncoded();
                } catch (GeneralSecurityException error) {
                    throw new IllegalStateException("The key was wrapped with another one.", error);
                }
            }
        };
    }

    private Cipher cipher(int mode) throws GeneralSecurityException {
        Cipher cipher = Cipher.getInstance("AESWrap");
        cipher.init(mode, master);
        return cipher;
    }
}
